#include "store/etcd/members.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace pawl::store::etcd {
namespace {

using namespace std::chrono_literals;
using test::DnsServer;
using test::eventually;
using testing::Each;
using testing::HasSubstr;

/// A client of `etcd+srv://example.com` whose DNS is that server.
class MembersTest : public testing::Test {
 protected:
  ~MembersTest() override {
    test::on_executor(runtime_, [this] {
      if (members_) members_->stop();
      members_.reset();
    });
  }
  std::future<Result<void>> start(const DnsServer& dns, std::optional<base::Credentials> credentials) {
    std::future<Result<void>> ready;
    test::on_executor(runtime_, [&] {
      Config config;
      config.srv = "example.com";
      members_ = std::make_shared<Members>(runtime_, std::move(config));
      Members::Plan plan;
      plan.timeout = 30s;
      plan.credentials.from_url = std::move(credentials);
      plan.dns = dns.address();
      members_->start(std::move(plan));
      ready = test::begin(runtime_, members_->ready(base::Deadline::in(runtime_.now(), 60s)));
    });
    return ready;
  }

  const test::Socket member_ = test::listen_on_tcp();
  base::RealRuntime runtime_;
  std::shared_ptr<Members> members_;
};

TEST_F(MembersTest, MembersThatHadTlsAreNeverAskedWithout) {
  const DnsServer dns(member_.port(), 1);
  std::future<Result<void>> ready = start(dns, std::nullopt);
  member_.accept();  // and hangs up
  EXPECT_TRUE(eventually([&] { return dns.questions().size() >= 4; }));
  EXPECT_THAT(dns.questions(), Each(HasSubstr(dns.with_tls)));
  test::on_executor(runtime_, [this] { members_->stop(); });
  EXPECT_FALSE(test::take(ready));
}

TEST_F(MembersTest, NoPasswordIsSentWithoutTlsBecauseOfWhatDnsDoesNotSay) {
  const DnsServer dns(member_.port(), 0);
  std::future<Result<void>> ready = start(dns, base::Credentials({"alice", "pw"}));
  const Result<void> refused = test::take(ready);
  EXPECT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("_etcd-client-ssl._tcp.example.com"));
  EXPECT_THAT(dns.questions(), Each(HasSubstr(dns.with_tls)));
}

TEST_F(MembersTest, MembersWithoutTlsAreFoundByWhoHasNoPassword) {
  const DnsServer dns(member_.port(), 0);
  std::future<Result<void>> ready = start(dns, std::nullopt);
  member_.accept();
  EXPECT_THAT(dns.questions().back(), HasSubstr(dns.without_tls));
  test::on_executor(runtime_, [this] { members_->stop(); });
  EXPECT_FALSE(test::take(ready));
}

}  // namespace
}  // namespace pawl::store::etcd
