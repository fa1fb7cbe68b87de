// The etcd transport and TLS: whose certificate is accepted, and by which name.

#include "store/etcd/members.hpp"
#include "tests/etcd/transport_client.hpp"
#include "tests/etcd/users.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::Certificates;
using test::Ear;
using test::EtcdServer;
using test::put;
using testing::HasSubstr;
using Client = test::TransportClient;

TEST(EtcdTls, BothSidesShowTheirCertificates) {
  const Certificates certificates("IP:127.0.0.1");
  EtcdServer server(certificates.server());
  Client client(server.url(certificates.both()));
  const Result<void> connected = client.connect();
  ASSERT_TRUE(connected) << connected.error().to_string();
  EXPECT_TRUE(client.txn(put("tls/a", std::string(200 << 10, 'x'))));
  EXPECT_EQ(client.value("tls/a").size(), std::size_t{200} << 10);
  Ear ear;
  EXPECT_TRUE(client.watched_from(client.watch("tls/a", ear)));
  Client anonymous(server.url(certificates.ca()));
  EXPECT_FALSE(anonymous.connect(3s)) << "the server wants a certificate";
  Client distrustful(
      server.url("?timeout=2s&cert=" + certificates / "client.crt" + "&key=" + certificates / "client.key"));
  EXPECT_EQ(distrustful.connect(30s).code(), Errc::permission_denied) << "the system knows no such authority";
}

TEST(EtcdTls, AWrongNameIsRefused) {
  const Certificates certificates("DNS:elsewhere.example");
  EtcdServer server(certificates.server());
  Client client(server.url(certificates.both()));
  EXPECT_EQ(client.connect().code(), Errc::permission_denied);
}

// gRPC needs HTTP/2, and TLS is where both sides agree on it (ALPN).
TEST(EtcdTls, AServerThatDoesNotOfferHttp2IsUnsupported) {
  const Certificates certificates("IP:127.0.0.1");
  const test::TemporaryFolder folder;
  const test::Port port;
  test::ServerProcess server;
  server.start({"openssl", "s_server", "-accept", std::to_string(port.number()), "-cert", certificates / "server.crt",
                "-key", certificates / "server.key", "-www"},
               folder.path(), [&] { return test::answers(port.number(), "\x16\x03\x01"s + "\0\x05hello"s); });
  Client client("etcd+tls://127.0.0.1:" + std::to_string(port.number()) + certificates.ca());
  const Result<void> refused = client.connect();
  EXPECT_EQ(refused.code(), Errc::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("h2"));
}

TEST(EtcdTls, AServerInPlainTextIsRefused) {
  Client client("etcd+tls://" + EtcdServer::shared().address() + "?timeout=1s");
  EXPECT_FALSE(client.connect(2s));
}

// etcd+srv://

/// Members of `etcd+srv://example.com`, whose DNS names localhost.
class EtcdSrv : public testing::Test {
 protected:
  ~EtcdSrv() override {
    test::on_executor(runtime_, [this] {
      if (members_) members_->stop();
      members_.reset();
    });
  }
  Result<void> connect(const Certificates& certificates, const test::DnsServer& dns) {
    std::future<Result<void>> ready;
    test::on_executor(runtime_, [&] {
      store::etcd::Config config;
      config.srv = "example.com";
      config.credentials = base::Credentials({"alice", "pw"});
      config.tls = {
          .ca = certificates / "ca.crt", .cert = certificates / "client.crt", .key = certificates / "client.key"};
      members_ = std::make_shared<store::etcd::Members>(runtime_, config);
      store::etcd::Members::Plan plan;
      plan.timeout = 30s;
      plan.credentials.from_url = config.credentials;
      plan.dns = dns.address();
      members_->start(std::move(plan));
      ready = test::begin(runtime_, members_->ready(base::Deadline::in(runtime_.now(), 60s)));
    });
    return test::take(ready);
  }

  base::RealRuntime runtime_;
  std::shared_ptr<store::etcd::Members> members_;
};

// As etcdctl --discovery-srv does: DNS can be forged, the domain in the URL cannot.
TEST_F(EtcdSrv, AMemberIsAcceptedByTheNameOfTheDomain) {
  const Certificates certificates("DNS:example.com");
  const EtcdServer server(certificates.server());
  const test::DnsServer dns(server.port(), 100);
  const Result<void> connected = connect(certificates, dns);
  EXPECT_TRUE(connected) << connected.error().to_string();
}

TEST_F(EtcdSrv, AMemberIsNotAcceptedByTheNameThatDnsGivesIt) {
  const Certificates certificates("DNS:localhost,IP:127.0.0.1");
  const EtcdServer server(certificates.server());
  const test::DnsServer dns(server.port(), 100);
  EXPECT_EQ(connect(certificates, dns).code(), Errc::permission_denied);
}

}  // namespace
}  // namespace pawl
