#include "tests/process/cli_servers.hpp"
#include "tests/support/etcd_server.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliEtcd : public CliOnServer {
 protected:
  std::string url() const override { return server_.url(); }

  EtcdServer server_;
};

const ServedStore etcd{"etcd", {"queue"}, {"queue"}, [] {
                         const auto server = std::make_shared<EtcdServer>();
                         return Served{server, server->url()};
                       }};
INSTANTIATE_TEST_SUITE_P(Etcd, CliServers, testing::Values(etcd));

TEST_F(CliEtcd, ALeaseIsAtLeastTwoSeconds) {
  const Ended ended = pawl({"run", "--lease", "1s", "job", "--", "true"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, HasSubstr("lease is 1s; etcd/queue takes 2s to 1d"));
}

TEST_F(CliEtcd, WithRawNamesTheLockIsTheKeyThatOthersUse) {
  const std::string raw = url() + "?names=raw";
  Process alice = start_with({path}, {"--store", raw, "run", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(alice.says("started")) << alice.err();
  EXPECT_EQ(server_.records("job/").size(), 1U);
  const Words theirs{
      "/usr/bin/timeout", "2", "/usr/bin/etcdctl", "--endpoints", server_.address(), "lock", "job", "true"};
  EXPECT_EQ(Process(theirs, {path, "ETCDCTL_API=3"}, folder_.path()).wait().code, 124) << "it waits for ours";
  alice.signal(SIGTERM);
  alice.wait();
  EXPECT_EQ(server_.must_ctl({"lock", "job", "echo", "mine"}), "mine\n");
  EXPECT_EQ(at(raw, {"run", "--no-wait", "job", "--", "true"}).code, 0);
}

TEST_F(CliEtcd, WhenTheServerHangsTheCommandIsEndedBeforeTheLeaseIs) {
  Process alice = start({"run", "--lease", "3s", "job", "--", "sh", "-c",
                         "trap 'echo told; exit 3' TERM; echo started; while :; do sleep 0.05; done"});
  ASSERT_TRUE(alice.says("started"));
  server_.stop();
  const Ended ended = alice.wait();
  server_.go_on();
  EXPECT_EQ(ended.code, 122) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("told\n"));
  EXPECT_THAT(ended.err, HasSubstr("\"job\""));
}

TEST_F(CliEtcd, ARestartOfTheServerIsSurvived) {
  const std::string patient = server_.url("?lease=20s");
  Process alice = start_with({path}, {"--store", patient, "run", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(alice.says("started"));
  server_.kill();
  server_.start();
  EXPECT_EQ(at(patient, {"run", "--no-wait", "job", "--", "true"}).code, 124);
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
  EXPECT_EQ(at(patient, {"run", "--no-wait", "job", "--", "true"}).code, 0);
}

TEST_F(CliEtcd, AServerThatIsNotThereIsNamed) {
  const Port nobody;
  const std::string address = "127.0.0.1:" + std::to_string(nobody.number());
  for (const Words& words : {Words{"ls"}, Words{"run", "job", "--", "true"}, Words{"leader", "api"}, Words{"epoch"}}) {
    const Ended ended = at("etcd://alice:s3cret@" + address + "?timeout=200ms", words);
    EXPECT_EQ(ended.code, 121) << words.front();
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), HasSubstr(address), Not(HasSubstr("s3cret"))));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CliEtcd, ABadUrlIsToldInOneLine) {
  for (const std::string bad : {"etcd:", "etcd://h:99999/", "etcd://h/?names=odd", "etcd://h/?timeout=soon",
                                "etcd://h/?nonsense=1", "etcd://h/?ca=/no/such/file"}) {
    const Ended ended = at(bad, {"ls"});
    EXPECT_EQ(ended.code, 125) << bad;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("pawl: ")) << bad;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

/// A server with users: root, and pawl with the role that docs/stores/etcd.md gives it.
class CliEtcdUsers : public CliEtcd {
 protected:
  static constexpr const char* secret = "hush-hush";

  CliEtcdUsers() {
    server_.must_ctl({"user", "add", "root:psst-psst"});
    server_.must_ctl({"user", "grant-role", "root", "root"});
    server_.must_ctl({"role", "add", "pawl"});
    server_.must_ctl({"role", "grant-permission", "pawl", "--prefix=true", "readwrite", "pawl/"});
    server_.must_ctl({"user", "add", std::string("pawl:") + secret});
    server_.must_ctl({"user", "grant-role", "pawl", "pawl"});
    server_.must_ctl({"user", "add", "stranger:no-rights"});
    server_.must_ctl({"auth", "enable"});
  }

  std::string as(const std::string& who, const std::string& options = {}) const {
    return "etcd://" + who + "@" + server_.address() + "/" + options;
  }
  Ended with(const std::string& who, Words words) const {
    return start_with({path, "PAWL_STORE=" + as(who)}, std::move(words)).wait();
  }
};

TEST_F(CliEtcdUsers, TheRoleOfTheDocumentsIsEnough) {
  const std::string us = std::string("pawl:") + secret;
  for (const Words& options : {Words{}, Words{"--read"}, Words{"--permits", "1/2"}, Words{"--lock-delay", "1s"}}) {
    Words words{"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"job", "--", "true"});
    const Ended ended = with(us, words);
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  for (const Words& words : {Words{"ls"}, Words{"show", "job"}, Words{"epoch"}, Words{"epoch", "new"},
                             Words{"elect", "job", "--", "true"}}) {
    const Ended ended = with(us, words);
    EXPECT_EQ(ended.code, 0) << words.front() << ": " << ended.err;
  }
  EXPECT_EQ(with(us, {"leader", "job"}).code, 1) << "nobody leads";
}

TEST_F(CliEtcdUsers, AWrongPasswordIsRefusedAndNotRepeated) {
  for (const std::string who : {"pawl:psst-wrong", "nobody:hush-hush", "stranger:no-rights"}) {
    for (const Words& words : {Words{"run", "job", "--", "true"}, Words{"ls"}}) {
      const Ended wrong = with(who, words);
      EXPECT_EQ(wrong.code, 121) << who;
      EXPECT_THAT(wrong.err, StartsWith("pawl: ")) << who;
      EXPECT_THAT(wrong.out + wrong.err,
                  AllOf(Not(HasSubstr("psst")), Not(HasSubstr("hush")), Not(HasSubstr("no-rights"))));
    }
  }
}

TEST_F(CliEtcdUsers, ThePasswordMayStandInAFile) {
  const std::string file = folder_ / "password";
  std::ofstream(file) << secret << "\n";
  const std::string with_file = as("pawl", "?password_file=" + file);
  EXPECT_EQ(at(with_file, {"run", "job", "--", "true"}).code, 0);
  std::ofstream(file) << "psst\n";
  const Ended wrong = at(with_file, {"ls"});
  EXPECT_EQ(wrong.code, 121);
  EXPECT_THAT(wrong.err, AllOf(StartsWith("pawl: "), Not(HasSubstr("psst"))));
}

TEST_F(CliEtcdUsers, ThePasswordIsKeptFromTheCommand) {
  const std::string look = "env; cat /proc/$$/cmdline /proc/$PPID/cmdline";
  const Ended seen = with(std::string("pawl:") + secret, {"run", "job", "--", "sh", "-c", look});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("PAWL_STORE=etcd://"), HasSubstr(server_.address()), Not(HasSubstr("hush"))));
}

}  // namespace
}  // namespace pawl::test
