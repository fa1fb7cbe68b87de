#include "store/etcd/members.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/dns_answer.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pawl::store::etcd {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using testing::Each;
using testing::HasSubstr;

const std::string with_tls = test::name({"_etcd-client-ssl", "_tcp", "example", "com"});
const std::string without_tls = test::name({"_etcd-client", "_tcp", "example", "com"});

/// A DNS server on the loopback address. It names one member, to whoever asks for members with TLS, the first times; and the
/// same one to whoever asks for members without.
class DnsServer {
 public:
  DnsServer(std::uint16_t member, int times_with_tls)
      : member_(test::srv(1, 1, member, test::name({"localhost"}))),
        times_with_tls_(times_with_tls),
        socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
        address_(test::loopback(0)) {
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    address_.sin_port = htons(socket_.port());
    thread_ = std::thread([this] { run(); });
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;
  ~DnsServer() {
    bell_.ring();
    thread_.join();
  }
  const sockaddr_in& address() const { return address_; }
  std::vector<std::string> questions() const {
    const std::lock_guard lock(mutex_);
    return questions_;
  }

 private:
  void run() {
    for (;;) {
      std::array<pollfd, 2> polled{{{socket_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (polled[1].revents != 0) return;
      std::array<char, 2048> buffer{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t heard =
          ::recvfrom(socket_.fd(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (heard <= 0) return;
      const std::string question(buffer.data(), static_cast<std::size_t>(heard));
      const bool tls = question.find(with_tls) != std::string::npos;
      std::vector<std::string> records;
      if (!tls || times_with_tls_-- > 0) records.push_back(member_);
      {
        const std::lock_guard lock(mutex_);
        questions_.push_back(question);
      }
      const std::string said = test::answer(question, records);
      ::sendto(socket_.fd(), said.data(), said.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
    }
  }

  const std::string member_;
  int times_with_tls_;
  const test::Socket socket_;
  sockaddr_in address_;
  const test::Bell bell_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<std::string> questions_;
  std::thread thread_;
};

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
  EXPECT_THAT(dns.questions(), Each(HasSubstr(with_tls)));
  test::on_executor(runtime_, [this] { members_->stop(); });
  EXPECT_FALSE(test::take(ready));
}

TEST_F(MembersTest, NoPasswordIsSentWithoutTlsBecauseOfWhatDnsDoesNotSay) {
  const DnsServer dns(member_.port(), 0);
  std::future<Result<void>> ready = start(dns, base::Credentials({"alice", "pw"}));
  const Result<void> refused = test::take(ready);
  EXPECT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("_etcd-client-ssl._tcp.example.com"));
  EXPECT_THAT(dns.questions(), Each(HasSubstr(with_tls)));
}

TEST_F(MembersTest, MembersWithoutTlsAreFoundByWhoHasNoPassword) {
  const DnsServer dns(member_.port(), 0);
  std::future<Result<void>> ready = start(dns, std::nullopt);
  member_.accept();
  EXPECT_THAT(dns.questions().back(), HasSubstr(without_tls));
  test::on_executor(runtime_, [this] { members_->stop(); });
  EXPECT_FALSE(test::take(ready));
}

}  // namespace
}  // namespace pawl::store::etcd
