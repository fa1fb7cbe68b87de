// A folder, or some of its files, brought back from a backup: no token is handed out twice.

#include "tests/process/file_child.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace pawl::process {
namespace {

/// What a person types in a shell: $F is the store's folder, $B a copy of it, $B.tar the same as an archive.
struct Restore {
  const char* name;
  const char* needs;  ///< a program
  const char* commands;
};

const Restore restores[] = {
    {"TheTokensByCopy", "cp", "rm $F/tokens; cp -a $B/tokens $F/tokens"},
    {"TheTokensInPlace", "cp", "cp -a $B/tokens $F/tokens"},
    {"TheTokensByMove", "mv", "cp -a $B/tokens $F/new; mv $F/new $F/tokens"},
    {"TheLocksInPlace", "cp", "cp -a $B/locks $F/locks"},
    {"TheLocksByCopy", "cp", "rm $F/locks; cp -a $B/locks $F/locks"},
    {"TheGateInPlace", "cp", "cp -a $B/gate $F/gate"},
    {"TheGateAndTheLocksInPlace", "cp", "cp -a $B/gate $B/locks $F"},
    {"TheGateAndTheLocksByCopy", "cp", "rm $F/gate $F/locks; cp -a $B/gate $B/locks $F"},
    {"AllInPlace", "cp", "cp -a $B/. $F/"},
    {"AllByCopy", "cp", "rm -r $F/*; cp -a $B/. $F/"},
    {"TheFolderByCopy", "cp", "rm -r $F; cp -a $B $F"},
    {"TheFolderByMove", "mv", "rm -r $F; mv $B $F"},
    {"AllByTar", "tar", "tar -C $F -xpf $B.tar"},
    {"AllByTarInPlace", "tar", "tar -C $F --overwrite -xpf $B.tar"},
    // Its quick check takes files of the same second for equal. No backup is that young, but the test's.
    {"AllByRsync", "rsync", "rsync -a --ignore-times $B/ $F/"},
    {"AllByRsyncInPlace", "rsync", "rsync -a --ignore-times --inplace $B/ $F/"},
};

enum class Boot { same, other };

class FileRestore : public testing::TestWithParam<std::tuple<Restore, Boot>> {
 protected:
  int shell(const std::string& commands) const {
    const std::string variables = "F=" + path_ + "; B=" + (folder_ / "backup") + "; ";
    return std::system((variables + commands).c_str());
  }
  /// A client comes, takes and releases the lock some times, and is killed.
  std::string last_token_of_a_client() const {
    Child client(url_);
    std::string last;
    for (int i = 0; i < 5; ++i) {
      last = token_of(client.say("acquire job"));
      client.say("release");
    }
    return last;
  }
  void reboot() const {
    const std::streamoff boot = 24;  // behind name, layout, machine, finished, reserved
    std::fstream gate(path_ + "/gate", std::ios::in | std::ios::out | std::ios::binary);
    gate.seekp(boot);
    gate << "00000000-0000-0000-0000-000000000000";
  }
  /// No person types so fast that a restore comes within the same tick of the file system's clock as the last use.
  static void await_tick() {
    timespec first{}, now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &first);
    do {
      ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec == first.tv_sec && now.tv_nsec == first.tv_nsec);
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "store";
  const std::string url_ = "file://" + path_;
};

TEST_P(FileRestore, RepeatsNoToken) {
  const auto& [restore, boot] = GetParam();
  if (shell(std::string("command -v ") + restore.needs + " >/dev/null") != 0) PAWL_SKIP_WITHOUT(restore.needs);
  std::string last = last_token_of_a_client();
  ASSERT_EQ(shell("cp -a $F $B && tar -C $F -cf $B.tar --exclude=mail-* ."), 0);
  if (boot == Boot::other) reboot();
  last = std::max(last, last_token_of_a_client());
  await_tick();
  ASSERT_EQ(shell(restore.commands), 0);
  if (boot == Boot::other) reboot();
  EXPECT_GT(last_token_of_a_client(), last);
  Child bob(url_);
  EXPECT_GT(token_of(bob.say("try job")), last);
}

using FileMove = FileRestore;

// A new epoch costs a write that is synced: only a restore is worth one.
TEST_F(FileMove, WithoutARestoreTheEpochStays) {
  const auto epoch = [this] { return last_token_of_a_client().substr(0, 12); };
  const std::string first = epoch();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(epoch(), first);
  {
    Child client(url_);
    EXPECT_EQ(client.say("close"), "ok");
  }
  EXPECT_EQ(epoch(), first);
}

// Scenario: an old folder takes the place of the one that was used since; nothing in it has changed.
TEST_F(FileMove, AFolderMovedAwayAndBackRepeatsNoToken) {
  std::string last = last_token_of_a_client();
  ASSERT_EQ(shell("mv $F $F.away"), 0);
  last = std::max(last, last_token_of_a_client());
  await_tick();
  ASSERT_EQ(shell("rm -r $F; mv $F.away $F"), 0);
  EXPECT_GT(last_token_of_a_client(), last);
}

// Scenario: the first one that opens the restored folder is killed on its way, wherever that is.
TEST_F(FileMove, ARestoreIsNotForgottenWithTheProcessThatNoticedIt) {
  std::string last = last_token_of_a_client();
  ASSERT_EQ(shell("cp -a $F $B"), 0);
  bool killed = true;
  for (int step = 1; killed && step < 100; ++step) {
    last = std::max(last, last_token_of_a_client());
    await_tick();
    ASSERT_EQ(shell("rm -r $F; cp -a $B $F"), 0);
    Child bob({.environment = {{"PAWL_TEST_STEP", std::to_string(step)}, {"PAWL_TEST_STEP_COMMAND", "kill -9 $PPID"}}});
    killed = bob.say("open " + url_) != "ok";
    bob.kill();
    EXPECT_GT(last_token_of_a_client(), last) << "killed at step " << step;
  }
  EXPECT_FALSE(killed);
}

std::string name_of(const testing::TestParamInfo<FileRestore::ParamType>& info) {
  const auto& [restore, boot] = info.param;
  return std::string(restore.name) + (boot == Boot::same ? "" : "AfterAReboot");
}

INSTANTIATE_TEST_SUITE_P(Process, FileRestore,
                         testing::Combine(testing::ValuesIn(restores), testing::Values(Boot::same, Boot::other)),
                         name_of);

}  // namespace
}  // namespace pawl::process
