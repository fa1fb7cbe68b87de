// The accidents that locks on ZooKeeper are known for: docs/hazards.md.

#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_server.hpp"
#include "tests/zookeeper/stranger.hpp"
#include "tests/zookeeper/wire.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Stranger;
using test::ZooKeeperServer;
using wire::Counts;
using wire::Wire;

/// A folder of its own for each test. An hour: nobody renews meanwhile.
std::string place(const std::string& more = {}) {
  static int places = 0;
  return "/hazard-" + std::to_string(++places) + "?lease=1h&timeout=60s" + more;
}

// The herd

/// So many clients, each with a session of its own, wait for one lock.
class Crowd {
 public:
  Crowd(const std::string& url, std::string lock, std::size_t size) : lock_(std::move(lock)) {
    for (std::size_t i = 0; i < size; ++i) {
      clients_.emplace_back(url);
      waits_.push_back(std::async(std::launch::async, [this, client = clients_.back()]() mutable {
        return client.mutex(lock_).acquire({}, stop_.get_token());
      }));
    }
  }
  ~Crowd() {
    stop_.request_stop();
    for (auto& wait : waits_) {
      if (wait.valid()) wait.wait();
    }
  }

  bool all_wait() { return clients_[0].inspect(lock_).value().waiters.size() == waits_.size(); }
  std::size_t served() const {
    const auto has_it = [](const std::future<Result<Hold>>& wait) {
      return !wait.valid() || wait.wait_for(0s) == std::future_status::ready;
    };
    return static_cast<std::size_t>(std::count_if(waits_.begin(), waits_.end(), has_it));
  }
  /// Of whoever has it.
  Hold take() {
    for (auto& wait : waits_) {
      if (wait.valid() && wait.wait_for(0s) == std::future_status::ready) return wait.get().value();
    }
    return {};
  }

 private:
  const std::string lock_;
  std::stop_source stop_;
  std::vector<Client> clients_;
  std::vector<std::future<Result<Hold>>> waits_;
};

constexpr std::size_t many = 100;

TEST(ZooKeeperHerd, OfEphemeralWakesForEveryRelease) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place("&scheme=ephemeral");
  const Wire wire(server.port());
  Client alice(server.url(where));
  Hold hold = alice.mutex("job").acquire().value();
  Crowd crowd(wire.url(where), "job", many);
  ASSERT_TRUE(eventually([&] { return crowd.all_wait(); }));
  const std::size_t events = wire.events();
  const Counts before = wire.requests();
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(eventually([&] { return crowd.served() == 1; }));
  // All try, and all but one wait again.
  EXPECT_TRUE(eventually([&] {
    const Counts counts = wire.requests_since(before);
    return wire::count(counts, "multi") >= many && wire::count(counts, "getData and watch") >= many - 1;
  }));
  const Counts counts = wire.requests_since(before);
  RecordProperty("events", static_cast<int>(wire.events() - events));
  RecordProperty("requests", static_cast<int>(wire::sum(counts)));
  EXPECT_GE(wire.events() - events, many) << "one to each of them";
  EXPECT_EQ(crowd.served(), 1);
}

TEST(ZooKeeperHerd, OfSequentialIsOne) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place();
  const Wire wire(server.port());
  Client alice(server.url(where));
  Hold hold = alice.mutex("job").acquire().value();
  Crowd crowd(wire.url(where), "job", many);
  ASSERT_TRUE(eventually([&] { return crowd.all_wait(); }));
  const std::size_t events = wire.events();
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(eventually([&] { return crowd.served() == 1; }));
  EXPECT_EQ(wire.events() - events, 1) << "to the next one";
  for (std::size_t i = 2; i <= 20; ++i) {
    hold = crowd.take();
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(eventually([&] { return crowd.served() == i; }));
    // Who let go is one of them now, and is told of its own node, too.
    EXPECT_TRUE(eventually([&] { return wire.events() - events >= 2 * i - 1; }));
    EXPECT_EQ(wire.events() - events, 2 * i - 1);
  }
}

// The folder that everybody watches

/// A recipe that is often written: make a numbered node, list the folder and watch it, and look again whenever it changes.
/// Readers wait for writers before them, writers for everybody.
class FolderWatcher {
 public:
  FolderWatcher(const ZooKeeperServer& server, std::string folder, const std::string& marker)
      : session_(server), folder_(std::move(folder)), node_(session_.create(folder_ + "/" + marker)) {}

  /// Does it hold the lock? From now on it is told of the next change.
  bool look() {
    const std::vector<std::string> all = session_.children(folder_, true);
    told_ = session_.told();
    return std::none_of(all.begin(), all.end(), [this](const std::string& other) {
      return number(other) < number(node_) && (is_writer(node_) || is_writer(other));
    });
  }
  /// Since it looked last?
  bool was_told() { return session_.told() != told_; }
  void release() { session_.remove(node_); }

 private:
  static std::string number(const std::string& node) { return node.substr(node.size() - 10); }
  static bool is_writer(const std::string& node) { return node.find("/write-") != std::string::npos; }

  Stranger session_;
  const std::string folder_;
  const std::string node_;
  int told_ = 0;
};

class FolderWatchers {
 public:
  explicit FolderWatchers(const ZooKeeperServer& server) : server_(server) { session_.create(folder_, 0); }

  FolderWatcher& come(const std::string& marker) {
    all_.push_back(std::make_unique<FolderWatcher>(server_, folder_, marker));
    all_.back()->look();
    return *all_.back();
  }
  /// How many were told of a change since they looked last? They all look again.
  std::size_t look_again() {
    std::size_t told = 0;
    for (const auto& one : all_) {
      if (!one->was_told()) continue;
      ++told;
      one->look();
    }
    return told;
  }

 private:
  static std::string next_folder() {
    static int folders = 0;
    return "/watched-folder-" + std::to_string(++folders);
  }

  const ZooKeeperServer& server_;
  Stranger session_{server_};
  const std::string folder_ = next_folder();
  std::vector<std::unique_ptr<FolderWatcher>> all_;
};

constexpr std::size_t some = 20;

TEST(ZooKeeperWatchedFolder, WakesEverybodyForEachReleaseAndForEachNewcomer) {
  FolderWatchers clients(ZooKeeperServer::shared());
  FolderWatcher& alice = clients.come("write-");
  for (std::size_t i = 0; i < some; ++i) {
    clients.come("write-");
    EXPECT_EQ(clients.look_again(), i + 1) << "all who were there, alice included";
  }
  alice.release();
  EXPECT_EQ(clients.look_again(), some + 1) << "one can go on, and all list the folder again";
}

TEST(ZooKeeperWatchedFolder, WakesReadersAndWritersAlike) {
  FolderWatchers clients(ZooKeeperServer::shared());
  FolderWatcher& alice = clients.come("write-");
  for (std::size_t i = 0; i < some; ++i) clients.come(i % 2 == 0 ? "write-" : "read-");
  clients.look_again();
  clients.come("read-");
  EXPECT_EQ(clients.look_again(), some + 1) << "for a reader at the end of the queue";
  alice.release();
  EXPECT_EQ(clients.look_again(), some + 2) << "for one writer who can go on";
}

/// Clients that come one after the other, each with a session of its own, to one shared mutex.
class ReadersAndWriters {
 public:
  explicit ReadersAndWriters(std::string url) : url_(std::move(url)), eye_(url_) {}
  ~ReadersAndWriters() { stop_.request_stop(); }

  void come(bool reads) {
    const std::size_t before = waiting();
    waits_.push_back(std::async(std::launch::async, [this, reads, client = Client(url_)]() mutable {
      SharedMutex mutex = client.shared_mutex("job");
      return reads ? mutex.acquire_shared({}, stop_.get_token()) : mutex.acquire({}, stop_.get_token());
    }));
    EXPECT_TRUE(eventually([&] { return waiting() == before + 1; }));
  }
  std::size_t waiting() { return eye_.inspect("job", Kind::rw).value().waiters.size(); }
  std::size_t granted() const {
    return static_cast<std::size_t>(std::count_if(
        waits_.begin(), waits_.end(), [](const auto& wait) { return wait.wait_for(0s) == std::future_status::ready; }));
  }

 private:
  const std::string url_;
  Client eye_;
  std::stop_source stop_;
  std::vector<std::future<Result<Hold>>> waits_;
};

/// Of all clients, on nodes whose path begins so. The server lists each path, and who watches it below.
std::size_t watches_of(const ZooKeeperServer& server, const std::string& path) {
  std::istringstream lines(server.four_letter("wchp"));
  std::size_t count = 0;
  bool ours = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("/")) {
      ours = line.starts_with(path);
    } else if (ours && !line.empty()) {
      ++count;
    }
  }
  return count;
}

// Scenario: alice writes, then come three readers, a writer and two readers.
TEST(ZooKeeperWatchedFolder, IsWatchedByNobodyOfOursAndOnlyThoseWakeWhoCanGoOn) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place();
  const Wire wire(server.port());
  Client alice(server.url(where));
  Hold hold = alice.shared_mutex("job").acquire().value();
  ReadersAndWriters clients(wire.url(where));
  for (const bool reads : {true, true, true, false, true}) clients.come(reads);
  const std::string folder = where.substr(0, where.find('?')) + "/pawl/sequential/rw/job";
  ASSERT_TRUE(eventually([&] { return watches_of(server, folder) == 1 + 2 * 5; }))
      << "one's own, and of the one before";
  const std::size_t events = wire.events();
  clients.come(true);
  EXPECT_EQ(wire.events(), events) << "a newcomer wakes nobody";
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(eventually([&] { return clients.granted() == 3; }));
  EXPECT_EQ(wire.events() - events, 3) << "the three readers";
  EXPECT_EQ(wire::count(wire.requests(), "getChildren2 and watch"), 0);
}

// The one before

/// The recipe as it is often written: list the queue, watch the one before, and wait until the watch tells.
class NaiveQueue {
 public:
  NaiveQueue(const ZooKeeperServer& server, std::string folder) : session_(server), folder_(std::move(folder)) {
    node_ = session_.create(folder_ + "/lock-");
  }

  /// Empty: nobody, the lock is ours.
  std::string who_is_before() {
    const std::vector<std::string> queue = session_.children(folder_);
    const auto own = std::find(queue.begin(), queue.end(), node_);
    return own == queue.begin() ? "" : *std::prev(own);
  }
  void watch(const std::string& node) { session_.watch(node); }
  bool is_told() { return session_.told() > 0; }
  void release() { session_.remove(node_); }

 private:
  Stranger session_;
  const std::string folder_;
  std::string node_;
};

std::string make_folder(const ZooKeeperServer& server) {
  static int folders = 0;
  return Stranger(server).create("/naive-" + std::to_string(++folders), ZOO_PERSISTENT);
}

TEST(NaiveZooKeeperLock, TheOneBeforeGoesBetweenListAndWatchAndNobodyIsEverTold) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string folder = make_folder(server);
  NaiveQueue alice(server, folder), bob(server, folder);
  ASSERT_EQ(alice.who_is_before(), "");
  const std::string before = bob.who_is_before();
  ASSERT_NE(before, "");
  alice.release();
  bob.watch(before);
  EXPECT_EQ(bob.who_is_before(), "") << "the lock is his";
  EXPECT_FALSE(bob.is_told()) << "and its number never comes again: the accident";
}

TEST(NaiveZooKeeperLock, IsToldWhenTheOneBeforeGoesLater) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string folder = make_folder(server);
  NaiveQueue alice(server, folder), bob(server, folder);
  bob.watch(bob.who_is_before());
  EXPECT_FALSE(bob.is_told());
  alice.release();
  EXPECT_TRUE(eventually([&] { return bob.is_told(); }));
}

class ZooKeeperPredecessor : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Dialects, ZooKeeperPredecessor, testing::Values("curator", "kazoo"),
                         [](const auto& dialect) { return std::string(dialect.param); });

// Scenario: bob's node is made, he knows who is before him, and his watch is on its way. Just then that one goes.
TEST_P(ZooKeeperPredecessor, GoesJustBeforeItIsWatched) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  Wire wire(server.port());
  const std::string where = place("&dialect=" + std::string(GetParam()));
  Client alice(server.url(where)), bob(wire.url(where));
  ASSERT_TRUE(bob.mutex("elsewhere").acquire().value().release()) << "now his session is there";
  for (int round = 0; round < 5; ++round) {
    Hold hold = alice.mutex("job").acquire().value();
    bool released = false;
    wire.before_next_watch([&] { released = hold.release().has_value(); });
    const auto asked = std::chrono::steady_clock::now();
    Hold bobs = bob.mutex("job").acquire({.wait = 60s}).value();
    EXPECT_TRUE(released) << "before his watch, not after his turn";
    EXPECT_LT(std::chrono::steady_clock::now() - asked, 4s) << "at once, and not when he looks again to be safe";
    EXPECT_TRUE(bobs.valid());
    EXPECT_TRUE(bobs.release());
  }
}

/// How many watches the server keeps, for all its clients.
std::size_t watches_at(const ZooKeeperServer& server) {
  const std::string words = server.four_letter("wchs");
  const std::string before = "Total watches:";
  return std::stoul(words.substr(words.find(before) + before.size()));
}

// A watch of a node that is not there, and never will be, would stay as long as the session.
TEST_P(ZooKeeperPredecessor, ThatIsGoneLeavesNoWatchBehind) {
  const ZooKeeperServer server;
  Wire wire(server.port());
  const std::string where = place("&dialect=" + std::string(GetParam()));
  Client alice(server.url(where)), bob(wire.url(where));
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      Hold hold = alice.mutex("job").acquire().value();
      wire.before_next_watch([&] { EXPECT_TRUE(hold.release()); });
      EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}).value().release());
    }
  };
  ASSERT_TRUE(bob.mutex("elsewhere").acquire().value().release());
  rounds(1);
  const std::size_t few = watches_at(server);
  rounds(20);
  EXPECT_LE(watches_at(server), few + 2);
}

// A late release

class ZooKeeperLateRelease : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Schemes, ZooKeeperLateRelease, testing::Values("sequential", "ephemeral"),
                         [](const auto& scheme) { return scheme.param; });

TEST_P(ZooKeeperLateRelease, OfARevokedHoldLeavesTheNextHoldersNodeAlone) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place("&scheme=" + GetParam());
  Wire wire(server.port());
  Client alice(wire.url(where)), bob(server.url(where)), carol(server.url(where));
  Hold hold = alice.mutex("job").acquire().value();
  std::optional<Hold> his;
  wire.before_next_removal([&] {
    EXPECT_TRUE(carol.revoke("job", {.now = true}));
    his = bob.mutex("job").acquire({.wait = 60s}).value();
  });
  EXPECT_FALSE(hold.release());
  ASSERT_TRUE(his);
  EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(his->release());
}

TEST_P(ZooKeeperLateRelease, OfSomebodyWhoIsJustBeingRevokedLeavesTheNextHolderItsLock) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  for (const bool now : {false, true}) {
    const std::string where = place("&scheme=" + GetParam());
    Wire wire(server.port());
    Client alice(server.url(where)), bob(server.url(where)), carol(wire.url(where));
    Hold hold = alice.mutex("job").acquire().value();
    std::optional<Hold> his;
    wire.before_next_removal([&] {
      EXPECT_TRUE(hold.release());
      his = bob.mutex("job").acquire({.wait = 60s}).value();
    });
    [[maybe_unused]] const Result<void> late = carol.revoke("job", {.now = now});
    ASSERT_TRUE(his);
    EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_FALSE(his->release_requested().stop_requested());
    EXPECT_TRUE(his->release());
  }
}

// Its folder is deleted and made again while nobody can tell her: the numbers begin anew.
TEST(ZooKeeperLateReleases, OfAHoldWhoseNumberSomebodyElseHasByNowLeavesItAlone) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place("&prefix=/p"), folder = where.substr(0, where.find('?')) + "/p/sequential/mutex/job";
  test::Proxy proxy(server.port(), test::zookeeper_framing());
  Client alice("zookeeper://127.0.0.1:" + std::to_string(proxy.port()) + where), bob(server.url(where));
  Stranger stranger(server);
  Hold hold = alice.mutex("job").acquire().value();
  const std::vector<std::string> hers = stranger.children(folder);
  ASSERT_EQ(hers.size(), 1);
  proxy.shut(true);
  proxy.cut();
  stranger.remove(hers[0]);
  stranger.remove(folder);
  Hold his = bob.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_EQ(stranger.children(folder), hers) << "the same name";
  auto releases = std::async(std::launch::async, [&] { return hold.release(); });
  proxy.shut(false);
  EXPECT_FALSE(releases.get());
  EXPECT_EQ(stranger.children(folder), hers);
  EXPECT_TRUE(his.release());
}

}  // namespace
}  // namespace pawl
