// What a lock costs etcd: requests and streams, counted on their way.

#include "etcd.pb.h"
#include "tests/etcd/port_client.hpp"
#include "tests/etcd/stage.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace pawl {
namespace {

using namespace stage;
using testing::SizeIs;

/// All requests that pass.
class Counted {
 public:
  explicit Counted(std::uint16_t server)
      : proxy_(server, test::etcd_framing([this](const EtcdMessage& message) {
                 const std::lock_guard lock(mutex_);
                 messages_.push_back(message);
               })) {}

  std::uint16_t port() const { return proxy_.port(); }
  std::vector<EtcdMessage> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }
  /// Without keepalives and pings, which come by the clock.
  std::vector<EtcdMessage> take() {
    std::vector<EtcdMessage> taken = take_all();
    std::erase_if(taken, [](const EtcdMessage& one) { return one.method == "LeaseKeepAlive" || one.method == "PING"; });
    return taken;
  }
  std::size_t connections() const { return proxy_.connections(); }

 private:
  std::mutex mutex_;  // guards the messages
  std::vector<EtcdMessage> messages_;
  Proxy proxy_;  // last: it uses the others
};

std::map<std::string, std::size_t> methods_of(const std::vector<EtcdMessage>& messages) {
  std::map<std::string, std::size_t> methods;
  for (const EtcdMessage& one : messages) ++methods[one.method];
  return methods;
}

using Methods = std::map<std::string, std::size_t>;

TEST(EtcdCost, AFreeLockTakesOneTransactionAndItsReleaseAnother) {
  const EtcdServer& server = EtcdServer::shared();
  Counted counted(server.port());
  Client client(url_at(counted.port(), "?lease=60s&prefix=" + fresh_prefix()));
  EXPECT_TRUE(client.mutex("warm-up").acquire().value().release());
  counted.take();
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_EQ(methods_of(counted.take()), (Methods{{"Txn", 1}}));
  EXPECT_TRUE(hold.release());
  const std::vector<EtcdMessage> release = counted.take();
  EXPECT_EQ(methods_of(release), (Methods{{"Txn", 1}}));
  EXPECT_FALSE(release.at(0).has_a_range());
}

TEST(EtcdCost, AWaiterTakesOneWatchAndOneLook) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string query = "?lease=60s&prefix=" + fresh_prefix();
  Counted counted(server.port());
  Client holder(server.url(query)), waiter(url_at(counted.port(), query));
  EXPECT_TRUE(waiter.mutex("warm-up").acquire().value().release());
  Hold hold = holder.mutex("job").acquire().value();
  counted.take();
  auto wait = wait_for(waiter, "job");
  ASSERT_TRUE(waiters_are(holder, "job", 1));
  ASSERT_TRUE(eventually([&] { return counted.connections() > 0; }));
  EXPECT_TRUE(hold.release());
  ASSERT_TRUE(wait.get());
  Methods methods = methods_of(counted.take());
  EXPECT_LE(methods["Watch"], 2U) << "one to begin it, one to end it";
  EXPECT_LE(methods["Txn"] + methods["Range"], 4U) << "to claim, to look, to be granted, to let go";
}

class EtcdHandOver : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Waiters, EtcdHandOver, testing::Values(10U, 1000U), testing::PrintToStringParamName());

// Ten clients of ours, and behind them as many keys of others as are missing: a thousand of ours are below.
TEST_P(EtcdHandOver, NoRequestIsAboutARangeAndTheirNumberDoesNotGrow) {
  constexpr std::size_t clients = 10;
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  const std::string query = "?lease=60s&timeout=30s&prefix=" + prefix;
  Counted counted(server.port());
  Client holder(url_at(counted.port(), query));
  Hold hold = holder.mutex("job").acquire().value();
  const std::string key = line_of(server, prefix).at(0).key;
  const std::string folder = key.substr(0, key.rfind('/') + 1);
  std::vector<Client> parties;
  std::vector<std::future<Result<Hold>>> waits;
  for (std::size_t i = 0; i < clients; ++i) {
    parties.emplace_back(url_at(counted.port(), query));
    waits.push_back(wait_for(parties.back(), "job"));
    ASSERT_TRUE(eventually([&] { return line_of(server, prefix).size() == waits.size() + 1; }));
  }
  for (std::size_t i = clients; i < GetParam(); ++i) server.put(folder + std::to_string(1'000'000 + i), "", false);
  counted.take();
  EXPECT_TRUE(hold.release());
  Token newest = hold.token();
  for (auto& wait : waits) {
    Result<Hold> granted = wait.get();
    ASSERT_TRUE(granted) << granted.error().to_string();
    EXPECT_GT(granted->token(), newest);
    newest = granted->token();
    EXPECT_TRUE(granted->release());
  }
  const std::vector<EtcdMessage> requests = counted.take();
  const auto ranges =
      std::count_if(requests.begin(), requests.end(), [](const EtcdMessage& one) { return one.has_a_range(); });
  EXPECT_EQ(ranges, 0);
  EXPECT_LE(requests.size(), (clients + 1) * 3) << testing::PrintToString(methods_of(requests));
}

// A thousand claims in one line, each of them with a key and a watch of its own, and all of them get the lock in turn.
TEST(EtcdHandOvers, NoneInALineOfAThousandIsAboutARange) {
  constexpr std::size_t clients = 10, waiters = 1000;
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  Counted counted(server.port());
  std::vector<std::unique_ptr<test::PortClient>> parties;
  std::vector<store::SessionId> sessions;
  for (std::size_t i = 0; i < clients; ++i) {
    parties.push_back(std::make_unique<test::PortClient>(url_at(counted.port(), "?prefix=" + prefix)));
    sessions.push_back(parties.back()->open(600s));
  }
  std::vector<store::Claim> line;
  std::vector<std::atomic<bool>> told(waiters + 1);
  for (std::size_t i = 0; i <= waiters; ++i) {
    test::PortClient& party = *parties[i % clients];
    line.push_back(party.wish(sessions[i % clients], "job"));
    party.watch(line.back(), [&turn = told[i]] { turn = true; });
    ASSERT_EQ(party.has(line.back()), i == 0);
  }
  EXPECT_THAT(line_of(server, prefix), SizeIs(waiters + 1));
  counted.take();
  for (std::size_t i = 0; i < waiters; ++i) {
    EXPECT_EQ(parties[i % clients]->withdraw(line[i]).value(), store::Withdrawn::done);
    ASSERT_TRUE(eventually([&] { return told[i + 1].load(); })) << "of the release before it";
    ASSERT_TRUE(parties[(i + 1) % clients]->has(line[i + 1]));
  }
  const std::vector<EtcdMessage> requests = counted.take();
  const auto ranges =
      std::count_if(requests.begin(), requests.end(), [](const EtcdMessage& one) { return one.has_a_range(); });
  EXPECT_EQ(ranges, 0);
  EXPECT_LE(requests.size(), (waiters + 1) * 3) << testing::PrintToString(methods_of(requests));
  for (std::size_t i = 0; i <= waiters; ++i) parties[i % clients]->unwatch(line[i]);
}

TEST(EtcdCost, AThousandLocksAreWaitedForWithOneStreamOfWatches) {
  const EtcdServer& server = EtcdServer::shared();
  constexpr std::size_t locks = 1000, sessions = 2;
  const std::string query = "?lease=60s&timeout=30s&prefix=" + fresh_prefix();
  Counted counted(server.port());
  Client holder(server.url(query)), waiter(url_at(counted.port(), query));
  std::vector<Hold> holds;
  for (std::size_t i = 0; i < locks; ++i) {
    holds.push_back(holder.mutex("job" + std::to_string(i)).acquire({.wait = hang}).value());
  }
  const Hold other = waiter.mutex("other", {.lease = 30s}).acquire({.wait = hang}).value();
  std::vector<std::future<Result<Hold>>> waits;
  for (std::size_t i = 0; i < locks; ++i) waits.push_back(wait_for(waiter, "job" + std::to_string(i)));
  ASSERT_TRUE(waiters_are(holder, "job" + std::to_string(locks - 1), 1));
  const std::uint64_t renewals = waiter.metrics().renewals;
  EXPECT_TRUE(eventually([&] { return waiter.metrics().renewals >= renewals + 3; })) << "while it waits, every 5 s";
  for (Hold& hold : holds) EXPECT_TRUE(hold.release());
  for (auto& wait : waits) EXPECT_TRUE(wait.get());
  EXPECT_EQ(counted.connections(), 1U);
  std::map<std::string, std::set<std::int64_t>> streams;
  std::size_t created = 0;
  for (const EtcdMessage& one : counted.take_all()) {
    streams[one.method].insert(one.stream);
    store::etcd::pb::WatchRequest watch;
    if (one.method == "Watch" && watch.ParseFromString(one.message) && watch.has_create_request()) ++created;
  }
  EXPECT_THAT(streams["Watch"], SizeIs(1));
  EXPECT_THAT(streams["LeaseKeepAlive"], SizeIs(1)) << "of both sessions";
  EXPECT_GE(created, locks);
  EXPECT_LE(created, locks + sessions) << "one for each lock, one for each mailbox";
  EXPECT_THAT(sessions_of(server, query.substr(query.rfind('=') + 1)), SizeIs(testing::Le(1 + sessions)));
}

}  // namespace
}  // namespace pawl
