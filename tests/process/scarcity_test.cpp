// Whatever the kernel refuses, once or for good: every call ends with an error or a success, nothing is left behind at the
// store, and when there is enough again everything works.

#include "tests/process/cli.hpp"

#include "tests/support/sanitized.hpp"
#include "tests/support/skip.hpp"

#ifdef PAWL_WITH_ETCD
#include "tests/support/etcd_server.hpp"
#endif
#ifdef PAWL_WITH_MYSQL
#include "tests/support/mysql_server.hpp"
#endif
#if defined(PAWL_WITH_REDIS) || defined(PAWL_WITH_REDLOCK)
#include "tests/support/redis_server.hpp"
#endif
#ifdef PAWL_WITH_ZOOKEEPER
#include "tests/support/zookeeper_server.hpp"
#endif

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace pawl::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t somebody = 61'947;  // who has no other process
constexpr int more_than_ever = 500;
constexpr int more_allocations_than_ever = 5'000;

/// A store for one test; the folder is its own.
struct Scarce {
  std::string name;
  std::function<std::string(const TemporaryFolder&)> url;
  bool shared = true;  ///< with other processes

  friend void PrintTo(const Scarce& store, std::ostream* out) { *out << store.name; }
};

class Scarcity : public testing::TestWithParam<Scarce> {
 protected:
  std::string url() const { return GetParam().url(folder_); }

  static bool preloads(const std::string& how) { return how == "fail" || how.ends_with("memory"); }
  Ended run(const std::string& how, int n) {
    const Words environment{"PATH=/usr/bin:/bin",
                            std::string("LD_PRELOAD=") + (preloads(how) ? PAWL_SCARCITY_PRELOAD : "")};
    const Words command{PAWL_SCARCITY, url(), how, std::to_string(n)};
    return Process(command, environment, output_.path()).wait();
  }
  /// Other processes get every lock, well before the lease of 30 s is over.
  void expect_nothing_left() const {
    if (!GetParam().shared) return;
    Client client(url());
    for (const char* name : {"lock", "try", "renew", "wait"}) {
      const Result<Hold> hold = client.mutex(name).acquire({.wait = 10s});
      EXPECT_TRUE(hold) << name << ": " << hold.error().to_string();
    }
  }
  void expect_sound(const Ended& ended) const {
    EXPECT_EQ(ended.code, 0) << "with enough of everything it fails, too:\n" << ended.out << ended.err;
    EXPECT_THAT(ended.out, Not(HasSubstr("signals are blocked")));
    if (has(ended, "clean")) expect_nothing_left();
  }
  /// Every allocation fails once, until there are fewer than that. Returns how many there are.
  int refuse_each_allocation(const std::string& how) {
    int n = 0;
    for (bool refused = true; refused && !HasFailure() && n < more_allocations_than_ever;) {
      const Ended ended = run(how, ++n);
      SCOPED_TRACE(how + ", allocation " + std::to_string(n) + ": " + ended.out + ended.err);
      // Nothing in between: no crash, no hang, and no lock that is left behind by a process that goes on.
      const bool ended_by_pawl =
          ended.code == died_of + SIGABRT && ended.err.find("out of memory") != std::string::npos;
      EXPECT_TRUE(ended.code == 0 || ended_by_pawl) << ended.code;
      EXPECT_FALSE(has(ended, "left behind"));
      refused = !has(ended, "refused nothing");
    }
    return n;
  }
  static bool has(const Ended& ended, std::string_view part) { return ended.out.find(part) != std::string::npos; }
  /// How many there are at the end: the words of its last line.
  static std::ptrdiff_t open_files(const Ended& ended) {
    const auto begin = ended.out.find("open files:");
    if (begin == std::string::npos) return 0;
    return std::count(ended.out.begin() + static_cast<std::ptrdiff_t>(begin), ended.out.end(), ' ') - 1;
  }

  const TemporaryFolder folder_, output_;
};

class RestedScarcity : public Scarcity {};

constexpr const char* their_own_new = "the sanitizers' operator new is taken, not that of the preloaded library";

TEST_P(Scarcity, EveryThreadDescriptorAndRegistrationIsRefusedOnce) {
  const std::ptrdiff_t usual_files = open_files(run("fail", more_than_ever));
  EXPECT_GT(usual_files, 0);
  int n = 0;
  for (bool refused = true; refused && n < more_than_ever;) {
    const Ended ended = run("fail", ++n);
    SCOPED_TRACE("call " + std::to_string(n) + ": " + ended.out);
    expect_sound(ended);
    ASSERT_THAT(ended.out, HasSubstr("refused "));
    // Where there is no eventfd, Asio takes a pipe, which has two ends.
    EXPECT_LE(open_files(ended), usual_files + (has(ended, "refused eventfd") ? 1 : 0)) << "a descriptor was forgotten";
    // A close that is refused what it needs leaves its sessions to their leases. Nothing else may.
    if (!has(ended, " during close")) {
      EXPECT_THAT(ended.out, HasSubstr("clean"));
    }
    refused = !has(ended, "refused nothing");
  }
  EXPECT_GT(n, 5);
  EXPECT_LT(n, more_than_ever);
}

TEST_P(Scarcity, EveryAllocationIsRefusedOnce) {
  if (sanitized) GTEST_SKIP() << their_own_new;
  const int allocations = refuse_each_allocation("memory");
  EXPECT_GT(allocations, 50);
  EXPECT_LT(allocations, more_allocations_than_ever);
}

// An exception in Driver::wait() once took away the stack frame that another thread was using.
TEST_P(RestedScarcity, EveryAllocationIsRefusedOnceWhileTheBackgroundDrives) {
  if (sanitized) GTEST_SKIP() << their_own_new;
  EXPECT_GT(refuse_each_allocation("rested-memory"), 50);
}

TEST_P(Scarcity, FewDescriptors) {
#ifdef PAWL_UBSAN
  GTEST_SKIP() << "UBSan opens a pipe to look at the type of an object, and without descriptors calls every type wrong";
#endif
  bool well = false;
  for (int most = 3; !well && most < more_than_ever; ++most) {
    const Ended ended = run("files", most);
    SCOPED_TRACE("limit " + std::to_string(most) + ": " + ended.out);
    expect_sound(ended);
    well = ended.out.find("well") != std::string::npos;
  }
  EXPECT_TRUE(well);
}

TEST_P(Scarcity, FewThreads) {
  if (::geteuid() != 0) PAWL_SKIP_WITHOUT("only root can become somebody who has no other process");
  ASSERT_EQ(::chown(folder_.path().c_str(), somebody, somebody), 0);
  bool well = false;
  for (int most = 2; !well && most < more_than_ever; ++most) {
    const Ended ended = run("threads", most);
    SCOPED_TRACE("limit " + std::to_string(most) + ": " + ended.out);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, Not(HasSubstr("signals are blocked")));
    well = ended.out.find("well") != std::string::npos;
  }
  EXPECT_TRUE(well);
}

Scarce memory() {
  return {"memory", [](const TemporaryFolder&) { return "memory:scarce"; }, false};
}
/// A server, or several, that all of this program's tests share.
template <class Server>
Scarce served(std::string name) {
  return {std::move(name), [](const TemporaryFolder&) { return Server::shared().url(); }};
}

INSTANTIATE_TEST_SUITE_P(Memory, Scarcity, testing::Values(memory()));
INSTANTIATE_TEST_SUITE_P(Memory, RestedScarcity, testing::Values(memory()));  // the driver knows nothing of stores
INSTANTIATE_TEST_SUITE_P(File, Scarcity, testing::Values(Scarce{"file", [](const TemporaryFolder& folder) {
                                                                  return "file://" + folder.path() + "/locks";
                                                                }}));
#ifdef PAWL_WITH_REDIS
INSTANTIATE_TEST_SUITE_P(Redis, Scarcity, testing::Values(served<RedisServer>("redis")));
#endif
#ifdef PAWL_WITH_ZOOKEEPER
INSTANTIATE_TEST_SUITE_P(ZooKeeper, Scarcity, testing::Values(served<ZooKeeperServer>("zookeeper")));
#endif
#ifdef PAWL_WITH_ETCD
INSTANTIATE_TEST_SUITE_P(Etcd, Scarcity, testing::Values(served<EtcdServer>("etcd")));
#endif
#ifdef PAWL_WITH_MYSQL
INSTANTIATE_TEST_SUITE_P(Mysql, Scarcity, testing::Values(served<MysqlServer>("mysql")));
#endif
#ifdef PAWL_WITH_REDLOCK
INSTANTIATE_TEST_SUITE_P(Redlock, Scarcity, testing::Values(served<RedisServers>("redlock")));
#endif

}  // namespace
}  // namespace pawl::test
