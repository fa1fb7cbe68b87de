// The etcd transport against real servers: calls, streams, login, TLS, and servers that go or hang.

#include "tests/etcd/transport_client.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using store::etcd::Cluster;
using store::etcd::Heard;
using test::Ear;
using test::erase;
using test::EtcdServer;
using test::eventually;
using test::Fault;
using test::get;
using test::Proxy;
using test::put;
using test::take;
using testing::Contains;
using testing::HasSubstr;
using Client = test::TransportClient;
namespace pb = store::etcd::pb;

// One server

TEST(EtcdTransport, AWriteIsReadBack) {
  Client client(EtcdServer::shared().url());
  ASSERT_TRUE(client.connect());
  const Result<pb::TxnResponse> written = client.txn(put("transport/a", "1"));
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_TRUE(written->succeeded());
  EXPECT_EQ(client.value("transport/a"), "1");
  EXPECT_EQ(EtcdServer::shared().records("transport/a").at(0).mod_revision, written->header().revision());
}

TEST(EtcdTransport, LeasesAreGrantedKeptAndRevoked) {
  Client client(EtcdServer::shared().url());
  constexpr std::int64_t id = 0x5eed'0001;
  EXPECT_EQ(client.grant(id, 30).value(), 30);
  EXPECT_EQ(client.grant(id, 30).value(), 30) << "a lease that exists is a success";
  ASSERT_TRUE(client.txn(put("transport/leased", "1", id)));
  const Result<Cluster::Kept> kept = client.keep_alive(id);
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(kept->ttl, 30);
  EXPECT_GT(kept->raft_term, 0U);
  EXPECT_TRUE(client.revoke(id));
  EXPECT_TRUE(client.revoke(id)) << "a lease that does not exist is a success";
  EXPECT_EQ(client.value("transport/leased"), "none");
  EXPECT_EQ(client.keep_alive(id).code(), Errc::lost);
  EXPECT_EQ(client.txn(put("transport/leased", "1", id)).code(), Errc::lost);
}

TEST(EtcdTransport, AWatchTellsWhatHappensAfterItsRevision) {
  Client client(EtcdServer::shared().url());
  Ear one, many;
  const auto watch = client.watch("transport/watched/a", one);
  const auto range = client.watch("transport/watched/", many, "transport/watched0");
  const Result<std::int64_t> from = client.watched_from(watch);
  ASSERT_TRUE(from) << from.error().to_string();
  ASSERT_TRUE(client.watched_from(range));
  const std::int64_t revision = client.txn(put("transport/watched/a", "1")).value().header().revision();
  EXPECT_GT(revision, *from);
  ASSERT_TRUE(client.txn(put("transport/watched/b", "2")));
  ASSERT_TRUE(client.txn(erase("transport/watched/a")));
  ASSERT_TRUE(one.waits_for(2));
  EXPECT_EQ(one.heard()[0].what, Heard::What::put);
  EXPECT_EQ(one.heard()[0].key, "transport/watched/a");
  EXPECT_EQ(one.heard()[0].value, "1");
  EXPECT_EQ(one.heard()[0].create_revision, revision);
  EXPECT_EQ(one.heard()[0].before, std::nullopt);
  EXPECT_EQ(one.heard()[1].what, Heard::What::deleted);
  EXPECT_EQ(one.heard()[1].before, "1");
  EXPECT_EQ(one.heard()[1].create_revision, revision);
  EXPECT_GT(one.heard()[1].mod_revision, revision);
  ASSERT_TRUE(many.waits_for(3));
  EXPECT_EQ(many.heard()[1].key, "transport/watched/b");
}

TEST(EtcdTransport, NothingIsHeardAfterUnwatch) {
  Client client(EtcdServer::shared().url());
  Ear ended, other;
  const auto watch = client.watch("transport/unwatched", ended);
  const auto another = client.watch("transport/unwatched", other);
  ASSERT_TRUE(client.watched_from(watch));
  ASSERT_TRUE(client.watched_from(another));
  client.unwatch(watch);
  ASSERT_TRUE(client.txn(put("transport/unwatched", "1")));
  ASSERT_TRUE(other.waits_for(1));
  EXPECT_TRUE(ended.heard().empty());
  EXPECT_EQ(client.watched_from(watch).code(), Errc::cancelled);
}

TEST(EtcdTransport, AThousandWatchesShareOneStream) {
  Proxy proxy(EtcdServer::shared().port(), test::etcd_framing());
  Client client("etcd://127.0.0.1:" + std::to_string(proxy.port()));
  Ear ear;
  std::vector<Cluster::WatchId> watches;
  for (int i = 0; i < 1000; ++i) watches.push_back(client.watch("transport/many/" + std::to_string(i), ear));
  for (const Cluster::WatchId watch : watches) ASSERT_TRUE(client.watched_from(watch));
  EXPECT_EQ(proxy.connections(), 1U);
  for (int i = 0; i < 1000; i += 100) ASSERT_TRUE(client.txn(put("transport/many/" + std::to_string(i), "1")));
  EXPECT_TRUE(ear.waits_for(10));
}

// Larger than a window of HTTP/2 (64 KiB) each way.
TEST(EtcdTransport, LargeMessagesGoBothWays) {
  Client client(EtcdServer::shared().url());
  const std::string large(1 << 20, 'x');
  for (const char* key : {"transport/large/1", "transport/large/2", "transport/large/3"}) {
    const auto written = client.txn(put(key, large));
    ASSERT_TRUE(written) << written.error().to_string();
  }
  pb::RangeRequest all = get("transport/large/");
  all.set_range_end("transport/large0");
  const Result<pb::RangeResponse> found = client.range(all);
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->kvs_size(), 3);
  for (const pb::KeyValue& record : found->kvs()) EXPECT_EQ(record.value(), large);
  EXPECT_EQ(client.txn(put("transport/large/4", std::string(2 << 20, 'x'))).code(), Errc::invalid_argument);
  ASSERT_TRUE(client.txn(erase("transport/large/1")));
}

TEST(EtcdTransport, WhatIsAskedInOneTurnIsAnsweredTogether) {
  Client client(EtcdServer::shared().url());
  ASSERT_TRUE(client.connect());
  std::vector<std::future<Result<pb::TxnResponse>>> begun;
  for (int i = 0; i < 500; ++i) begun.push_back(client.begin_txn(put("transport/crowd/" + std::to_string(i), "1")));
  for (auto& one : begun) {
    const auto done = take(one);
    ASSERT_TRUE(done) << done.error().to_string();
  }
}

// Servers that go, and answers that get lost

class EtcdTransportFaults : public testing::Test {
 protected:
  std::string url(const std::string& query = {}) const {
    return "etcd://127.0.0.1:" + std::to_string(proxy_.port()) + query;
  }

  Proxy proxy_{EtcdServer::shared().port(), test::etcd_framing()};
};

TEST_F(EtcdTransportFaults, AWriteWhoseAnswerIsLostIsUnknown) {
  Client client(url());
  proxy_.arrange(Fault::lose_reply, "Txn");
  EXPECT_EQ(client.txn(put("faults/a", "1")).code(), Errc::outcome_unknown);
  EXPECT_EQ(client.value("faults/a"), "1") << "it was applied, and nobody could know";
}

TEST_F(EtcdTransportFaults, WhatChangesNothingOrCanBeRepeatedIsAskedAgain) {
  Client client(url());
  ASSERT_TRUE(client.txn(put("faults/read", "1")));
  constexpr std::int64_t id = 0x5eed'0002;
  for (const char* name : {"Range", "LeaseGrant", "LeaseRevoke"}) proxy_.arrange(Fault::lose_reply, name);
  EXPECT_EQ(client.value("faults/read"), "1");
  EXPECT_EQ(client.grant(id, 30).value(), 30);
  EXPECT_TRUE(client.revoke(id));
  EXPECT_EQ(proxy_.happened(), 3U);
  EXPECT_FALSE(EtcdServer::shared().seconds_left(id));
}

TEST_F(EtcdTransportFaults, AKeepaliveWhoseAnswerIsLostIsAskedAgain) {
  Client client(url());
  constexpr std::int64_t id = 0x5eed'0003;
  ASSERT_TRUE(client.grant(id, 30));
  ASSERT_TRUE(client.keep_alive(id));
  proxy_.arrange(Fault::lose_reply, "LeaseKeepAlive");
  EXPECT_EQ(client.keep_alive(id).value().ttl, 30);
  EXPECT_EQ(proxy_.happened(), 1U);
}

TEST_F(EtcdTransportFaults, AWatchIsMadeAgainAndTellsThatItMissedSomething) {
  Client client(url());
  Ear ear;
  const auto watch = client.watch("faults/watched", ear);
  ASSERT_TRUE(client.watched_from(watch));
  proxy_.cut();
  ASSERT_TRUE(ear.waits_for(1));
  EXPECT_EQ(ear.heard()[0].what, Heard::What::missed);
  EXPECT_EQ(ear.heard()[0].key, "faults/watched");
  ASSERT_TRUE(client.txn(put("faults/watched", "1")));
  ASSERT_TRUE(ear.waits_for(2));
  EXPECT_EQ(ear.heard()[1].what, Heard::What::put);
}

TEST_F(EtcdTransportFaults, ThePlanHearsOfDownAndUp) {
  std::atomic<int> downs = 0, ups = 0, headers = 0;
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  plan.up = [&] { ++ups; };
  plan.seen = [&](const pb::ResponseHeader& header) { headers += header.cluster_id() != 0; };
  Client client(url(), plan);
  ASSERT_TRUE(client.txn(put("faults/plan", "1")));
  EXPECT_EQ(headers, 1);
  EXPECT_EQ(ups, 0) << "the first time is no news";
  proxy_.cut();
  EXPECT_TRUE(eventually([&] { return downs == 1 && ups == 1; }));
}

TEST_F(EtcdTransportFaults, AServerThatHangsIsUnknownToWritersAndUnavailableToReaders) {
  Client client(url("?timeout=1s"));
  ASSERT_TRUE(client.txn(put("faults/hangs", "1")));
  proxy_.hold();
  EXPECT_EQ(client.txn(put("faults/hangs", "2"), 1s).code(), Errc::outcome_unknown);
  EXPECT_EQ(client.range(get("faults/hangs"), 1s).code(), Errc::store_unavailable);
  proxy_.go_on();
  EXPECT_TRUE(client.txn(put("faults/hangs", "3")));
}

TEST_F(EtcdTransportFaults, ASilentConnectionIsLeftWhileOnlyAWatchWaits) {
  std::atomic<int> downs = 0;
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  Client client(url("?timeout=1s"), plan);
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("faults/silent", ear)));
  proxy_.hold();  // nobody asks anything: the ping finds out
  ASSERT_TRUE(eventually([&] { return downs > 0; }));
  proxy_.go_on();
  ASSERT_TRUE(ear.waits_for(1));
  EXPECT_EQ(ear.heard()[0].what, Heard::What::missed);
}

TEST(EtcdTransport, AServerThatIsGoneIsFoundAgain) {
  EtcdServer server;
  Client client(server.url());
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("restart", ear)));
  ASSERT_TRUE(client.txn(put("restart", "1")));
  server.end();
  EXPECT_EQ(client.range(get("restart"), 100ms).code(), Errc::store_unavailable);
  server.start();
  EXPECT_EQ(client.value("restart"), "1");
  ASSERT_TRUE(ear.waits_for(2));
  EXPECT_EQ(ear.heard()[1].what, Heard::What::missed);
}

TEST(EtcdTransport, AnEndpointThatHangsIsPassedOver) {
  const test::Socket hangs = test::listen_on_tcp(64);
  const std::string url = "etcd://127.0.0.1:" + std::to_string(hangs.port()) + "," + EtcdServer::shared().address();
  // Where a client begins is drawn at random.
  for (int i = 0; i < 50 && !hangs.somebody_comes(); ++i) {
    Client client(url);
    EXPECT_TRUE(client.connect());
    EXPECT_TRUE(client.txn(put("transport/passed_over", "1")));
  }
  EXPECT_TRUE(hangs.somebody_comes());
}

TEST(EtcdTransport, NobodyThereIsUnavailable) {
  const test::Port nobody;
  Client client("etcd://127.0.0.1:" + std::to_string(nobody.number()));
  const Result<pb::RangeResponse> none = client.range(get("a"), 200ms);
  EXPECT_EQ(none.code(), Errc::store_unavailable);
  EXPECT_THAT(none.error().message, HasSubstr(std::to_string(nobody.number())));
  EXPECT_EQ(client.txn(put("a", "1"), 200ms).code(), Errc::store_unavailable) << "it was never sent";
}

TEST(EtcdTransport, AFullQuotaIsOverload) {
  EtcdServer server({.flags = {"--quota-backend-bytes", "1048576"}});
  Client client(server.url());
  const std::string large(300 << 10, 'x');
  ASSERT_TRUE(client.txn(put("quota/0", large)));
  // The size is looked at when the server has written it to its file, every 100 ms.
  Errc code{};
  EXPECT_TRUE(eventually([&] {
    code = client.txn(put("quota/more", large)).code();
    return code != Errc{};
  }));
  EXPECT_EQ(code, Errc::overloaded);
  EXPECT_EQ(client.value("quota/0"), large) << "reading goes on";
}

// Users

void run_all(const std::string& folder, const std::vector<std::string>& steps) {
  for (const std::string& step : steps) {
    const std::string command = "cd '" + folder + "' && (" + step + ") >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(step);
  }
}

/// root may do everything, alice what begins with "alice/".
class ServerWithUsers {
 public:
  explicit ServerWithUsers(std::vector<std::string> flags = {}) : server_(options(std::move(flags))) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"user", "add", "root:secret"},
             {"user", "grant-role", "root", "root"},
             {"role", "add", "alice"},
             {"role", "grant-permission", "alice", "readwrite", "--prefix=true", "alice/"},
             {"user", "add", "alice:pw"},
             {"user", "grant-role", "alice", "alice"},
             {"auth", "enable"}}) {
      server_.must_ctl(words);
    }
  }
  EtcdServer& server() { return server_; }
  std::string url(const std::string& user, const std::string& query = {}) const {
    return "etcd://" + user + "@" + server_.address() + query;
  }

 private:
  static test::EtcdOptions options(std::vector<std::string> flags) {
    test::EtcdOptions options;
    options.flags = std::move(flags);
    options.ctl = {"--user", "root:secret"};
    return options;
  }
  EtcdServer server_;
};

TEST(EtcdLogin, AUserMayDoWhatHisRoleSays) {
  ServerWithUsers users;
  Client alice(users.url("alice:pw"));
  ASSERT_TRUE(alice.connect());
  EXPECT_TRUE(alice.txn(put("alice/a", "1")));
  EXPECT_EQ(alice.value("alice/a"), "1");
  EXPECT_EQ(alice.txn(put("bob/a", "1")).code(), Errc::permission_denied);
  EXPECT_EQ(alice.range(get("bob/a")).code(), Errc::permission_denied);
  Ear ear;
  const auto forbidden = alice.watch("bob/a", ear);
  const auto allowed = alice.watch("alice/a", ear);
  EXPECT_EQ(alice.watched_from(forbidden).code(), Errc::permission_denied);
  EXPECT_TRUE(alice.watched_from(allowed));
}

TEST(EtcdLogin, AWrongPasswordIsRefused) {
  ServerWithUsers users;
  Client wrong(users.url("alice:wrong"));
  const Result<void> connected = wrong.connect();
  EXPECT_EQ(connected.code(), Errc::permission_denied);
  EXPECT_THAT(connected.error().message, HasSubstr("authentication failed"));
  EXPECT_EQ(wrong.txn(put("alice/a", "1")).code(), Errc::permission_denied);
}

TEST(EtcdLogin, WhoHasNoPasswordIsRefusedWhereOneIsNeeded) {
  ServerWithUsers users;
  Client nobody(users.server().url());
  const Result<pb::TxnResponse> refused = nobody.txn(put("alice/a", "1"));
  EXPECT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("user and a password"));
}

TEST(EtcdLogin, CredentialsAreNotNeededAndDoNotHurtWithoutUsers) {
  const std::string address = EtcdServer::shared().address();
  Client client("etcd://alice:pw@" + address);
  EXPECT_TRUE(client.txn(put("transport/no_users", "1")));
}

TEST(EtcdLogin, ThePasswordIsReadFromItsFileOrAsked) {
  ServerWithUsers users;
  const test::TemporaryFolder folder;
  std::ofstream(folder / "password") << "pw\n";
  Client from_file(users.url("alice", "?password_file=" + folder / "password"));
  EXPECT_TRUE(from_file.txn(put("alice/a", "1")));
  Cluster::Plan plan;
  plan.credentials = []() -> Result<Credentials> { return Credentials{.user = "alice", .password = "pw"}; };
  Client asked(users.server().url(), plan);
  EXPECT_TRUE(asked.txn(put("alice/a", "2")));
}

// Calls end in time, and the next ones find the login done once the words have come.
TEST(EtcdLogin, CredentialsThatAreNotGivenInTimeHoldNoCallUp) {
  ServerWithUsers users;
  std::promise<void> given;
  std::atomic<bool> hangs = false;
  Cluster::Plan plan;
  plan.credentials = [&, future = given.get_future().share()]() -> Result<Credentials> {
    if (hangs) future.wait();
    return Credentials{.user = "alice", .password = "pw"};
  };
  Client alice(users.server().url(), plan);
  EXPECT_TRUE(alice.txn(put("alice/a", "1")));
  hangs = true;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"user", "delete", "alice"}, {"user", "add", "alice:pw"}, {"user", "grant-role", "alice", "alice"}}) {
    users.server().must_ctl(words);  // her token is of no use now
  }
  auto late = alice.begin_txn(put("alice/a", "2"), 1s);
  const bool in_time = late.wait_for(30s) == std::future_status::ready;
  given.set_value();
  EXPECT_TRUE(in_time);
  const Result<pb::TxnResponse> refused = test::take(late);
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_TRUE(alice.txn(put("alice/a", "3")));
  EXPECT_EQ(alice.value("alice/a"), "3");
}

// Whoever adds a user changes the revision that tokens name.
TEST(EtcdLogin, AUserWhoIsAddedMeanwhileDisturbsNobody) {
  ServerWithUsers users;
  Client alice(users.url("alice:pw"));
  Ear ear;
  ASSERT_TRUE(alice.txn(put("alice/a", "1")));
  for (const char* name : {"carol:pw", "dave:pw", "erin:pw"}) {
    users.server().must_ctl({"user", "add", name});
    EXPECT_TRUE(alice.txn(put("alice/a", name)));
    EXPECT_EQ(alice.value("alice/a"), name);
    EXPECT_TRUE(alice.watched_from(alice.watch("alice/a", ear)));
  }
}

TEST(EtcdLogin, ATokenThatExpiresIsReplaced) {
  const test::TemporaryFolder folder;
  run_all(folder.path(), {"openssl genrsa -out jwt.key 2048", "openssl rsa -in jwt.key -pubout -out jwt.pub"});
  ServerWithUsers users({"--auth-token", "jwt,pub-key=" + folder / "jwt.pub" + ",priv-key=" + folder / "jwt.key" +
                                             ",sign-method=RS256,ttl=2s"});
  Proxy proxy(users.server().port(), test::etcd_framing());
  Client alice("etcd://alice:pw@127.0.0.1:" + std::to_string(proxy.port()));
  Ear first, second;
  ASSERT_TRUE(alice.watched_from(alice.watch("alice/watched", first)));
  std::size_t failures = 0;
  EXPECT_TRUE(eventually([&] {
    failures += alice.txn(put("alice/a", "1")) ? 0 : 1;
    return proxy.seen("Authenticate") >= 3;
  })) << "it logs in again every 2 s";
  EXPECT_EQ(failures, 0U);
  // The stream of watches still speaks with the first token.
  const Result<std::int64_t> made = alice.watched_from(alice.watch("alice/watched", second));
  EXPECT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(alice.txn(put("alice/watched", "1")));
  EXPECT_TRUE(second.waits_for(1));
  EXPECT_TRUE(first.waits_for(1));
}

// TLS

/// Certificates of a server called `name` and of a client, and the authority that has signed both.
class Certificates {
 public:
  explicit Certificates(const std::string& name) {
    run_all(folder_.path(),
            {"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt",
             "printf 'subjectAltName=" + name + "' > san.cnf", sign("server", "-extfile san.cnf"), sign("client", "")});
  }
  std::string operator/(const std::string& file) const { return folder_ / file; }
  test::EtcdOptions server() const {
    test::EtcdOptions options;
    options.tls = true;
    options.flags = {"--cert-file",       *this / "server.crt", "--key-file",        *this / "server.key",
                     "--trusted-ca-file", *this / "ca.crt",     "--client-cert-auth"};
    return options;
  }
  std::string ca() const { return "?timeout=2s&ca=" + *this / "ca.crt"; }
  std::string both() const { return ca() + "&cert=" + *this / "client.crt" + "&key=" + *this / "client.key"; }

 private:
  static std::string sign(const std::string& who, const std::string& more) {
    return "openssl req -newkey rsa:2048 -nodes -subj /CN=" + who + " -keyout " + who + ".key -out " + who +
           ".csr && openssl x509 -req -in " + who + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 " + more +
           " -out " + who + ".crt";
  }
  const test::TemporaryFolder folder_;
};

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

}  // namespace
}  // namespace pawl
