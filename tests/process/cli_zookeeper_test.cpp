#include "tests/process/cli_servers.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// One server for all of them, and a chroot for each.
std::string chroot() {
  static int chroots = 0;
  return "/cli-" + std::to_string(++chroots);
}

class CliZooKeeper : public CliOnServer {
 protected:
  std::string url() const override { return url_; }

  const ZooKeeperServer& server_ = ZooKeeperServer::shared();

 private:
  const std::string url_ = server_.url(chroot());
};

const ServedStore zookeeper{"zookeeper", {"sequential", "ephemeral"}, {"sequential", "ephemeral"}, [] {
                              return Served{nullptr, ZooKeeperServer::shared().url(chroot())};
                            }};
INSTANTIATE_TEST_SUITE_P(ZooKeeper, CliServers, testing::Values(zookeeper));

TEST_F(CliZooKeeper, WhatASchemeCannotDoIsToldWithItsName) {
  const std::vector<std::pair<Words, std::string>> inputs = {
      {{"run", "--scheme", "ephemeral", "--read", "job", "--", "true"}, "zookeeper/ephemeral has no rw"},
      {{"run", "--scheme", "ephemeral", "--permits", "1/2", "job", "--", "true"}, "zookeeper/ephemeral has no permits"},
      {{"elect", "--scheme", "ephemeral", "job", "--", "true"}, "zookeeper/ephemeral has no election"},
      {{"run", "--scheme", "bully", "job", "--", "true"},
       "unknown scheme \"bully\"; this store has: sequential, ephemeral"},
      {{"run", "--lease", "1ms", "job", "--", "true"}, "lease is 1ms; zookeeper/sequential takes 100ms to 1d"},
  };
  for (const auto& [words, sentence] : inputs) {
    const Ended ended = pawl(words);
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr(sentence));
  }
}

TEST_F(CliZooKeeper, WithRawNamesTheLockIsThePathThatOthersUse) {
  const std::string raw = url() + "?names=raw";
  Process alice = start_with({path}, {"--store", raw, "run", "/jobs/backup", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(alice.says("started")) << alice.err();
  // Somebody with the whole tree before him sees the same lock.
  const std::string below = url().substr(url().find("/cli-")) + "/jobs/backup";
  const std::string whole = server_.url("/?names=raw&prefix=" + below + "-of-others");
  EXPECT_THAT(at(whole, {"show", below}).out, HasSubstr(", pid " + std::to_string(alice.pid())));
  EXPECT_EQ(at(raw, {"run", "--no-wait", "/jobs/backup", "--", "true"}).code, 124);
  EXPECT_EQ(at(raw, {"ls"}).err, "pawl: with names=raw nobody knows which nodes are locks\n");
  const Ended impossible = at(raw, {"run", "/jobs//backup", "--", "true"});
  EXPECT_EQ(impossible.code, 125);
  EXPECT_EQ(impossible.err, "pawl: \"/jobs//backup\" cannot be a path in ZooKeeper: a part of it is empty\n");
}

// With raw names the kinds are where other libraries keep them: those in one queue exclude each other, and the rest does not.
TEST_F(CliZooKeeper, WithRawNamesOnlyAKindThatIsNotExcludedIsRefused) {
  const auto run_at = [&](const std::string& dialect, Words words) {
    words.insert(words.end(), {"--no-wait", "/jobs/backup", "--", "true"});
    return at(url() + "?names=raw" + dialect, std::move(words));
  };
  const auto holder_at = [&](const std::string& dialect, Words words) {
    words.insert(words.begin(), {"--store", url() + "?names=raw" + dialect});
    words.insert(words.end(), {"/jobs/backup", "--", "sh", "-c", sleeper});
    Process process = start_with({path}, std::move(words));
    EXPECT_TRUE(process.says("started")) << process.err();
    return process;
  };
  struct Pair {
    std::string dialect;
    Words holds;
    Words comes;
    int code;
  };
  const Words mutex{"run"}, reader{"run", "--read"}, writer{"run", "--write"}, permit{"run", "--permits", "1/2"};
  const Words leader{"elect"}, delayed{"run", "--lock-delay", "1s"};
  const std::string kazoo = "&dialect=kazoo";
  const std::vector<Pair> pairs = {
      {kazoo, mutex, mutex, 124},  {kazoo, mutex, leader, 124}, {kazoo, leader, mutex, 124},
      {kazoo, mutex, writer, 124}, {kazoo, writer, mutex, 124}, {kazoo, mutex, reader, 124},
      {kazoo, reader, mutex, 125}, {kazoo, mutex, permit, 125}, {kazoo, delayed, mutex, 124},
      {"", mutex, mutex, 124},     {"", mutex, leader, 124},    {"", leader, mutex, 124},
      {"", mutex, writer, 125},    {"", writer, mutex, 125},    {"", mutex, permit, 125},
      {"", reader, writer, 124},   {"", delayed, mutex, 124},
  };
  for (const Pair& pair : pairs) {
    Process held = holder_at(pair.dialect, pair.holds);
    const Ended second = run_at(pair.dialect, pair.comes);
    EXPECT_EQ(second.code, pair.code) << pair.dialect << pair.holds.back() << " " << pair.comes.back() << second.err;
    EXPECT_EQ(second.err.find("also in use") != std::string::npos, pair.code == 125) << second.err;
    if (pair.comes == permit) {
      EXPECT_THAT(second.err, HasSubstr("in use as a mutex: "));
    }
    EXPECT_EQ(held.err(), "");
    held.signal(SIGTERM);
    held.wait();
  }
}

TEST_F(CliZooKeeper, WhenTheServerHangsTheCommandIsEndedBeforeTheLeaseIs) {
  ZooKeeperServer own;
  Process alice = start_with({path}, {"--store", own.url(), "run", "--lease", "2s", "job", "--", "sh", "-c",
                                      "trap 'echo told; exit 3' TERM; echo started; while :; do sleep 0.05; done"});
  ASSERT_TRUE(alice.says("started"));
  own.stop();
  const Ended ended = alice.wait();
  own.go_on();
  EXPECT_EQ(ended.code, 122) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("told\n"));
  EXPECT_THAT(ended.err, HasSubstr("\"job\""));
}

// Scenario: the server cuts sessions to 6s, so the lease is 4s: less than the 5s that TERM usually comes before the end.
TEST_F(CliZooKeeper, ACommandIsLeftAloneWhereTheServerGrantsAShorterLease) {
  const ZooKeeperServer own(ZooKeeperOptions{.max_session = std::chrono::seconds(6)});
  const Ended ended = at(own.url(), {"run", "--lease", "30s", "job", "--", "sleep", "3"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

TEST_F(CliZooKeeper, ARestartOfTheServerIsSurvived) {
  ZooKeeperServer own;
  const std::string url = own.url("?lease=20s");
  Process alice = start_with({path}, {"--store", url, "run", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(alice.says("started"));
  own.kill();
  own.start();
  EXPECT_EQ(at(url, {"run", "--no-wait", "job", "--", "true"}).code, 124);
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
  EXPECT_EQ(at(url, {"run", "--no-wait", "job", "--", "true"}).code, 0);
}

TEST_F(CliZooKeeper, AServerThatIsNotThereIsNamed) {
  const Port nobody;
  const std::string address = "127.0.0.1:" + std::to_string(nobody.number());
  for (const Words& words : {Words{"ls"}, Words{"run", "job", "--", "true"}, Words{"leader", "api"}, Words{"epoch"}}) {
    const Ended ended = at("zookeeper://alice:s3cret@" + address + "?timeout=200ms", words);
    EXPECT_EQ(ended.code, 121) << words.front();
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), HasSubstr(address), Not(HasSubstr("s3cret"))));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CliZooKeeper, ABadUrlIsToldInOneLine) {
  const std::vector<std::pair<std::string, std::string>> urls = {
      {"zookeeper:", "write zookeeper://h1,h2,h3/chroot"},
      {"zookeeper://h/a//b", "a part of it is empty"},
      {"zookeeper://h:99999/", "port"},
      {"zookeeper://h/?names=odd", R"(names must be "raw")"},
      {"zookeeper://h/?dialect=go", "dialect is curator or kazoo"},
      {"zookeeper://h/?prefix=pawl", "the prefix is a path: prefix=/pawl"},
      {"zookeeper://h/?timeout=soon", "timeout"},
      {"zookeeper://h/?nonsense=1", "unknown option \"nonsense\""},
      {"zookeeper+tls://h/", "client has no TLS"},
  };
  for (const auto& [bad, sentence] : urls) {
    const Ended ended = at(bad, {"ls"});
    EXPECT_EQ(ended.code, 125) << bad;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), HasSubstr(sentence))) << bad;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

/// Locks of a user, and a pawl that has the password in PAWL_STORE.
class CliZooKeeperPassword : public CliZooKeeper {
 protected:
  static constexpr const char* secret = "hush-hush";

  CliZooKeeperPassword() { EXPECT_EQ(with("alice:hush-hush", {"epoch"}).code, 0); }

  std::string as(const std::string& who, const std::string& options = {}) const {
    return "zookeeper://" + who + (who.empty() ? "" : "@") + url().substr(url().find("127.")) + options;
  }
  Ended with(const std::string& who, Words words) const {
    return start_with({path, "PAWL_STORE=" + as(who)}, std::move(words)).wait();
  }
  static std::string all(const Ended& ended) { return ended.out + ended.err; }
};

TEST_F(CliZooKeeperPassword, AWrongOneIsRefusedAndNotRepeated) {
  for (const std::string who : {"alice:psst-psst", "bob:hush-hush", ""}) {
    for (const Words& words : {Words{"run", "job", "--", "true"}, Words{"ls"}, Words{"epoch"}}) {
      const Ended wrong = with(who, words);
      EXPECT_EQ(wrong.code, 121) << who;
      EXPECT_THAT(wrong.err, StartsWith("pawl: ")) << who;
      EXPECT_THAT(wrong.err, HasSubstr("access list")) << who;
      EXPECT_THAT(all(wrong), AllOf(Not(HasSubstr("psst")), Not(HasSubstr("hush"))));
    }
  }
  EXPECT_EQ(with("alice:hush-hush", {"run", "job", "--", "true"}).code, 0);
}

TEST_F(CliZooKeeperPassword, IsInNothingThatIsPrintedAlsoInABadUrl) {
  const std::string right = "alice:" + std::string(secret);
  for (const std::string options : {"?nonsense=1", "?scheme=bully", "?lease=soon", "?names=odd", "?prefix=x"}) {
    const Ended ended = at(as(right, options), {"run", "job", "--", "true"});
    EXPECT_EQ(ended.code, 125) << options;
    EXPECT_THAT(all(ended), Not(HasSubstr("hush"))) << options;
  }
  const std::string look = "for word in 'ls' 'ls --json' 'show job' 'show --json job'; do " PAWL_CLI " --store " +
                           as(right) + " $word || exit 9; done";
  const Ended shown = with(right, {"run", "job", "--", "sh", "-c", look});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"job\" (mutex, scheme sequential)"));
  EXPECT_THAT(all(shown), Not(HasSubstr("hush")));
}

TEST_F(CliZooKeeperPassword, IsKeptFromTheCommandAndFromWhatPsShows) {
  // The environment of the command, the words of both processes, and what else it inherits.
  const std::string look = "env; cat /proc/$$/cmdline /proc/$PPID/cmdline; ls -l /proc/$$/fd";
  const Ended seen = with("alice:" + std::string(secret), {"run", "job", "--", "sh", "-c", look});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.out,
              AllOf(HasSubstr("PAWL_STORE=zookeeper://"), HasSubstr(server_.address()), Not(HasSubstr("hush"))));
  EXPECT_THAT(seen.out, Not(HasSubstr("socket:"))) << "a connection that is logged in";
}

TEST_F(CliZooKeeperPassword, MayStandInAFile) {
  const std::string file = folder_ / "password";
  std::ofstream(file) << secret << "\n";
  const std::string with_file = as("alice", "?password_file=" + file);
  const Ended ended = at(with_file, {"run", "job", "--", PAWL_CLI, "--store", with_file, "show", "job"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("held for "));

  std::ofstream(file) << "psst\n";
  const Ended wrong = at(with_file, {"ls"});
  EXPECT_EQ(wrong.code, 121);
  EXPECT_THAT(wrong.err, AllOf(StartsWith("pawl: "), Not(HasSubstr("psst"))));
  const Ended missing = at(with_file + ".no", {"ls"});
  EXPECT_EQ(missing.code, 121);
  EXPECT_EQ(missing.err, "pawl: no password can be read from " + file + ".no\n");
}

}  // namespace
}  // namespace pawl::test
