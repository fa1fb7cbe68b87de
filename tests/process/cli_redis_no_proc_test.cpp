#include "tests/process/cli_servers.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/skip.hpp"

#include <signal.h>
#include <unistd.h>

#include <string>

/// Where /proc cannot be read, descendants cannot be found: what is ended then, and what is waited for. The file store does
/// not work there.
namespace pawl::test {
namespace {

using testing::HasSubstr;

class CliWithoutProc : public CliOnServer {
 protected:
  std::string url() const override { return server_.url(); }

  static inline const std::string hide = "mount -t tmpfs none /proc || exit 77\n";

  void SetUp() override {
    const Ended ended = Process({"unshare", "-rm", "sh", "-c", hide}, environment(), folder_.path()).wait();
    if (ended.code != 0) PAWL_SKIP_WITHOUT("/proc cannot be hidden: " + ended.err);
  }
  Words environment() const { return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PAWL_STORE=" + url()}; }

  /// A run of "job" in a world without /proc, whose command has a child. Its pid is that of the front.
  Process family(const std::string& child = "sleep 1000") const {
    const std::string command = child + " & echo \"child $!.\"; wait";
    Process process(
        {"unshare", "-rm", "sh", "-c", hide + "exec " PAWL_CLI " run --lease 3s job -- bash -c '" + command + "'"},
        environment(), folder_.path());
    EXPECT_TRUE(process.says("child ")) << process.err();
    return process;
  }
  static pid_t child_of(const Process& family) {
    const std::string out = family.out();
    return std::stoi(out.substr(out.find("child ") + 6));
  }
  bool free() const {
    return eventually([&] { return pawl({"run", "--no-wait", "job", "--", "true"}).code == 0; });
  }

  const std::string said = "pawl: /proc cannot be read: only the command's process group can be killed";
  const RedisServer server_;
};

TEST_F(CliWithoutProc, TakenAwayTheProcessGroupIsKilledAndItIsSaid) {
  Process alice = family();
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_THAT(ended.err, HasSubstr(said));
  EXPECT_FALSE(alive(child_of(alice)));
}

TEST_F(CliWithoutProc, WhenTheFrontIsKilledTheProcessGroupEndsBeforeTheNextRun) {
  Process alice = family();
  const pid_t child = child_of(alice);
  alice.signal(SIGKILL);
  EXPECT_EQ(pawl({"run", "job", "--", "sh", "-c", "test ! -e /proc/" + std::to_string(child)}).code, 0);
  EXPECT_TRUE(alice.says(said));
}

TEST_F(CliWithoutProc, WhenTheKeeperIsKilledTheProcessGroupEnds) {
  Process alice = family();
  const pid_t child = child_of(alice);
  ASSERT_NE(keeper_of(alice.pid()), 0);
  ::kill(keeper_of(alice.pid()), SIGKILL);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_THAT(ended.err, HasSubstr(said));
  EXPECT_FALSE(alive(child));
  EXPECT_TRUE(free());
}

TEST_F(CliWithoutProc, WhatHasLeftTheGroupIsWaitedFor) {
  Process alice = family("setsid sleep 1000");
  const pid_t child = child_of(alice);
  ASSERT_TRUE(eventually([&] { return ::getsid(child) == child; })) << "it has left the group";
  alice.signal(SIGKILL);
  EXPECT_TRUE(alice.says(said));
  EXPECT_EQ(pawl({"run", "--wait", "4s", "job", "--", "true"}).code, 124) << "longer than the lease";
  EXPECT_TRUE(alive(child));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(free());
}

TEST_F(CliWithoutProc, AScriptThatRunsPawlIsNotKilledAlong) {
  Process alice({"unshare", "-rm", "sh", "-c",
                 hide + PAWL_CLI " run --kill-children job -- sh -c 'sleep 1000 & exit 4'\necho code=$?"},
                environment(), folder_.path());
  EXPECT_EQ(alice.wait().out, "code=4\n");
  EXPECT_TRUE(free());
}

}  // namespace
}  // namespace pawl::test
