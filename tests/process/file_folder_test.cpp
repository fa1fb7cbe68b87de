// The file store's folder: shared, deleted, copied, full, of another boot or container, or no folder at all.

#include "store/file/gate.hpp"
#include "tests/process/file_child.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace pawl::process {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class FileFolder : public testing::Test {
 protected:
  FileFolder() { fs::permissions(folder_.path(), fs::perms(0755)); }

  /// Writes over some bytes of a file, as nobody should.
  void forge(const std::string& name, std::streamoff at, const std::string& bytes) const {
    std::fstream file(path_ + "/" + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  }
  std::string error_of(const std::string& url) const {
    const Result<Client> client = Client::open(url, {.timeout = 2s});
    return client ? "" : client.error().to_string();
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "store";
  const std::string url_ = "file://" + path_;
};

bool is_root() { return ::geteuid() == 0; }

TEST_F(FileFolder, TwoClientsOfOneProcessExcludeEachOther) {
  Client one(url_), two(url_);
  Hold hold = one.mutex("job").acquire().value();
  EXPECT_EQ(two.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_EQ(one.store_id(), two.store_id());
  ASSERT_TRUE(hold.release());
  EXPECT_TRUE(two.mutex("job").try_acquire());
}

// Scenario: closing one of two must not drop the record lock by which the process is known to live (POSIX).
TEST_F(FileFolder, WhenOneOfTwoClientsClosesTheOtherLivesOn) {
  Child bob(url_);
  Client one(url_);
  const Hold hold = one.mutex("job").acquire().value();
  {
    Client two(url_);
    EXPECT_TRUE(two.mutex("other").try_acquire());
  }
  EXPECT_TRUE(bob.say("try job").starts_with("busy: "));
  EXPECT_EQ(bob.say("holders job"), "1");
  EXPECT_TRUE(hold.valid());
}

TEST_F(FileFolder, AProcessCanCloseAndOpenAgain) {
  for (int i = 0; i < 20; ++i) {
    Client client(url_);
    EXPECT_TRUE(client.mutex("job").try_acquire());
  }
  EXPECT_FALSE(fs::exists(path_ + "/lock.mdb"));
  for (const auto& entry : fs::directory_iterator(path_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("mail-")) << entry.path();
  }
}

// Scenario: a thread that never waits is always faster than the background, which has the renewals to do.
TEST_F(FileFolder, ALeaseIsRenewedWhileAThreadLocksAndUnlocksWithoutAPause) {
  Client client(url_);
  const Hold hold = client.mutex("held").acquire({.lease = 3s}).value();
  Mutex busy = client.mutex("busy");
  const auto hang = std::chrono::steady_clock::now() + 60s;
  while (client.metrics().renewals < 3 && std::chrono::steady_clock::now() < hang) {
    Hold brief = busy.acquire().value();
    ASSERT_TRUE(brief.release());
  }
  EXPECT_GE(client.metrics().renewals, 3u);
  EXPECT_TRUE(hold.valid());
}

TEST_F(FileFolder, TheMailboxesOfTheDeadAreRemoved) {
  { Child alice(url_); }
  Client client(url_);
  int mailboxes = 0;
  for (const auto& entry : fs::directory_iterator(path_))
    mailboxes += entry.path().filename().string().starts_with("mail-");
  EXPECT_EQ(mailboxes, 1);
}

TEST_F(FileFolder, NothingIsOpenInAProgramThatIsExecuted) {
  Client client(url_);
  const Hold hold = client.mutex("job").acquire().value();
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (gone || !(has(target, path_) || has(target, "socket:") || has(target, "pidfd"))) continue;
    const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
    EXPECT_TRUE(flags & FD_CLOEXEC) << target;
  }
}

TEST_F(FileFolder, AFolderDeletedUnderItsHolderIsLostAndMadeAnew) {
  Child alice(url_, "1s"), bob(url_);
  const std::string before = token_of(alice.say("acquire job"));
  fs::remove_all(path_);
  const std::string after = token_of(bob.say("acquire job"));
  EXPECT_GT(after, before) << "a new life of the store is a later epoch";
  EXPECT_EQ(alice.say("await-loss"), "ok");
  EXPECT_TRUE(alice.say("release").starts_with("lost: "));
  EXPECT_TRUE(alice.say("try job").starts_with("busy: ")) << "both are in the new folder now";
  EXPECT_EQ(bob.say("valid"), "yes");
}

TEST_F(FileFolder, AFolderMovedAwayIsLost) {
  Child alice(url_, "1s"), bob;
  alice.say("acquire job");
  fs::rename(path_, path_ + "-away");
  EXPECT_EQ(bob.say("open " + url_), "ok");
  EXPECT_TRUE(bob.say("acquire job").starts_with("ok "));
  EXPECT_EQ(alice.say("await-loss"), "ok");
}

TEST_F(FileFolder, RecordsOfAnotherBootMeanNothing) {
  std::string before;
  {
    Child alice(url_);
    before = token_of(alice.say("acquire job 60000"));
  }
  const std::size_t boot = 24;  // behind name, layout, machine, finished, reserved
  forge("gate", boot, "00000000-0000-0000-0000-000000000000");
  Child bob(url_);
  EXPECT_GT(token_of(bob.say("try job")), before) << "the lock-delay of that boot is over, its tokens are not repeated";
}

TEST_F(FileFolder, AnotherBootIsRefusedWhileSomebodyLives) {
  Child alice(url_);
  alice.say("acquire job");
  forge("gate", 24, "00000000-0000-0000-0000-000000000000");
  const std::string refused = error_of(url_);
  EXPECT_TRUE(has(refused, "store_unavailable") && has(refused, "process " + std::to_string(alice.pid()))) << refused;
}

TEST_F(FileFolder, ANewerLayoutIsRefused) {
  { Child alice(url_); }
  forge("gate", 8, std::string("\x63\0\0\0", 4));
  const std::string refused = error_of(url_);
  EXPECT_TRUE(has(refused, "unsupported") && has(refused, "layout 99")) << refused;
}

TEST_F(FileFolder, AHalfMadeFolderIsMadeAnew) {
  { Child alice(url_); }
  forge("gate", 16, std::string(4, '\0'));
  Child bob(url_);
  EXPECT_TRUE(bob.say("try job").starts_with("ok "));
}

TEST_F(FileFolder, ATornTokenFileKeepsItsOtherSlot) {
  std::string before;
  {
    Child alice(url_);
    before = token_of(alice.say("acquire job"));
  }
  { Child again(url_); }
  forge("tokens", 4096, "garbage in the middle of a write");
  Child bob(url_);
  EXPECT_GT(token_of(bob.say("try job")), before);
}

TEST_F(FileFolder, ADamagedTokenFileIsNotOverwritten) {
  { Child alice(url_); }
  forge("tokens", 0, "garbage");
  forge("tokens", 4096, "garbage");
  const std::string refused = error_of(url_);
  EXPECT_TRUE(has(refused, "tokens\" is damaged")) << refused;
}

TEST_F(FileFolder, AFullDiskIsAClearErrorAndHeldLocksCanBeReleased) {
  if (!is_root()) PAWL_SKIP_WITHOUT("mounting a small file system needs root");
  Child alice;
  const std::string small = folder_ / "small";
  const std::string mounted = alice.say("mount-small " + small + " 4m");
  if (mounted != "ok") PAWL_SKIP_WITHOUT(mounted);
  const std::string url = "file://" + small + "/store";
  ASSERT_EQ(alice.say("open " + url), "ok");
  ASSERT_TRUE(alice.say("acquire job").starts_with("ok "));
  ASSERT_EQ(alice.say("fill " + small + "/ballast"), "ok");
  EXPECT_EQ(alice.say("release"), "ok") << "there was room for it";
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(alice.say("acquire job").starts_with("ok "));
    ASSERT_EQ(alice.say("release"), "ok");
  }
  const std::string refused = alice.say("open file://" + small + "/another");
  EXPECT_TRUE(has(refused, "store_unavailable") && has(refused, "the disk is full") && has(refused, "another"))
      << refused;
  EXPECT_EQ(alice.say("free " + small + "/ballast"), "ok");
  EXPECT_EQ(alice.say("open file://" + small + "/another"), "ok");
}

TEST_F(FileFolder, ManyLocksOnAFullDiskAreRefusedAndNotCorrupted) {
  if (!is_root()) PAWL_SKIP_WITHOUT("mounting a small file system needs root");
  Child alice;
  const std::string small = folder_ / "small";
  const std::string mounted = alice.say("mount-small " + small + " 4m");
  if (mounted != "ok") PAWL_SKIP_WITHOUT(mounted);
  ASSERT_EQ(alice.say("open file://" + small + "/store"), "ok");
  ASSERT_EQ(alice.say("fill " + small + "/ballast"), "ok");
  const std::string refused = alice.say("acquire-until-refused");
  EXPECT_TRUE(has(refused, "the disk is full") || has(refused, "timed_out") || has(refused, "store_unavailable"))
      << refused;
  ASSERT_EQ(alice.say("free " + small + "/ballast"), "ok");
  EXPECT_TRUE(alice.say("acquire another-job").starts_with("ok "));
}

// Scenario: so many locks that the database is full; then all of their holders are killed.
TEST_F(FileFolder, AFullDatabaseRecovers) {
  Child bob(url_);
  {
    Child alice(url_);
    const std::string refused = alice.say("crowd " + path_);
    EXPECT_TRUE(has(refused, "overloaded") && has(refused, "half of the store's database")) << refused;
    const std::string full = bob.say("try job");
    EXPECT_TRUE(full.starts_with("overloaded")) << full;
  }
  std::string answer = "overloaded";
  for (int i = 0; i < 1000 && answer.starts_with("overloaded"); ++i) answer = bob.say("try job");
  EXPECT_TRUE(answer.starts_with("ok ")) << answer;
}

TEST_F(FileFolder, AFullDatabaseIsEmptiedByTheFirstWhoComesWhenAllAreDead) {
  {
    Child alice(url_);
    EXPECT_TRUE(has(alice.say("crowd " + path_), "overloaded"));
  }
  Child bob(url_);
  EXPECT_TRUE(bob.say("acquire job").starts_with("ok "));
}

TEST_F(FileFolder, ADamagedDatabaseIsMadeAnewWhenAllAreDead) {
  std::string before;
  {
    Child alice(url_);
    before = token_of(alice.say("acquire job"));
  }
  forge("locks", 8192, std::string(8 * 4096, '\x7f'));
  Child bob(url_);
  EXPECT_GT(token_of(bob.say("acquire job")), before);
}

TEST_F(FileFolder, TwoUsersShareAFolderOfTheirGroup) {
  if (!is_root()) PAWL_SKIP_WITHOUT("becoming another user needs root");
  fs::permissions(folder_.path(), fs::perms(0777));
  Child alice(Child::Options{.user = 64001, .group = 64100}), bob(Child::Options{.user = 64002, .group = 64100}),
      eve(Child::Options{.user = 64003, .group = 64101});
  const std::string shared = url_ + "?mode=0770";
  ASSERT_EQ(alice.say("open " + shared), "ok");
  ASSERT_EQ(bob.say("open " + shared), "ok");
  ASSERT_TRUE(alice.say("acquire job").starts_with("ok "));
  ASSERT_EQ(bob.say("start job"), "ok");
  ASSERT_TRUE(queued(alice, "1"));
  EXPECT_EQ(alice.say("release"), "ok");
  EXPECT_TRUE(bob.say("finish").starts_with("ok "));
  ASSERT_EQ(alice.say("start job"), "ok");
  ASSERT_TRUE(queued(bob, "1"));
  const auto killed = Clock::now();
  bob.kill();
  EXPECT_TRUE(alice.say("finish").starts_with("ok "));
  EXPECT_LT(Clock::now() - killed, 5s);
  const std::string refused = eve.say("open " + url_);
  EXPECT_TRUE(has(refused, "permission_denied") && has(refused, path_)) << refused;
}

TEST_F(FileFolder, AnotherUsersPrivateFolderIsRefusedWithAHint) {
  if (!is_root()) PAWL_SKIP_WITHOUT("becoming another user needs root");
  fs::permissions(folder_.path(), fs::perms(0777));
  Child alice(Child::Options{.user = 64001, .group = 64100}), bob(Child::Options{.user = 64002, .group = 64100});
  ASSERT_EQ(alice.say("open " + url_), "ok");
  const std::string refused = bob.say("open " + url_);
  EXPECT_TRUE(has(refused, "permission_denied") && has(refused, "mode 0700") && has(refused, "?mode=0770")) << refused;
}

TEST_F(FileFolder, ALivingProcessOfAnotherContainerIsRefusedAndADeadOneTakenOver) {
  if (!is_root()) PAWL_SKIP_WITHOUT("a pid namespace needs root");
  std::string before;
  {
    Child there({.prefix = {"unshare", "--pid", "--fork", "--kill-child"}});
    ASSERT_EQ(there.say("open " + url_), "ok");
    before = token_of(there.say("acquire job"));
    const std::string refused = error_of(url_);
    EXPECT_TRUE(has(refused, "store_unavailable") && has(refused, "pid namespace")) << refused;
  }
  Child here(url_);
  EXPECT_GT(token_of(here.say("try job")), before);
}

TEST_F(FileFolder, ARestartedContainerKeepsTheLockDelay) {
  if (!is_root()) PAWL_SKIP_WITHOUT("a pid namespace needs root");
  const Child::Options container{.prefix = {"unshare", "--pid", "--fork", "--kill-child"}};
  {
    Child there(container);
    ASSERT_EQ(there.say("open " + url_), "ok");
    token_of(there.say("acquire job 60000"));
  }
  Child again(container);
  ASSERT_EQ(again.say("open " + url_), "ok");
  EXPECT_TRUE(again.say("try job").starts_with("busy: "));
}

TEST_F(FileFolder, BadInputIsNamed) {
  std::ofstream(folder_ / "a-file") << "text";
  const std::string file = error_of("file://" + folder_ / "a-file");
  EXPECT_TRUE(has(file, "invalid_argument") && has(file, "a-file\" is not a folder")) << file;
  const std::string below = error_of("file://" + folder_ / "a-file/below");
  EXPECT_TRUE(has(below, "invalid_argument") && has(below, "a-file")) << below;
  EXPECT_TRUE(has(error_of("file:relative/path"), "needs a whole path"));
  EXPECT_TRUE(has(error_of("file://host/path"), "has no host"));
  EXPECT_TRUE(has(error_of(url_ + "?mode=0777"), "mode is 0700"));
  EXPECT_TRUE(has(error_of(url_ + "?mood=0700"), "mood"));
  EXPECT_TRUE(has(error_of(url_ + "?network=perhaps"), "network is yes or no"));
  fs::create_directory(folder_ / "open");
  ::chmod((folder_ / "open").c_str(), 0777);
  EXPECT_TRUE(has(error_of("file://" + folder_ / "open"), "written to by everybody"));
}

TEST_F(FileFolder, AFolderOfAnotherModeIsNotChanged) {
  { Client alice(url_); }
  const std::string refused = error_of(url_ + "?mode=0770");
  EXPECT_TRUE(has(refused, "has mode 0700, not 0770")) << refused;
}

TEST_F(FileFolder, SomebodyElsesFolderIsNotTaken) {
  fs::create_directory(path_);
  ::chmod(path_.c_str(), 0700);
  std::ofstream(path_ + "/gate") << "this is the gate of another program";
  const std::string refused = error_of(url_);
  EXPECT_TRUE(has(refused, "is not pawl's")) << refused;
}

TEST_F(FileFolder, TheEpochCanBeRaisedByHand) {
  Client client(url_);
  const Hold before = client.mutex("job").acquire().value();
  const std::uint64_t epoch = client.epoch().value();
  EXPECT_EQ(before.token().epoch(), epoch);
  const std::uint64_t raised = client.raise_epoch().value();
  EXPECT_GT(raised, epoch);
  EXPECT_TRUE(client.check(before.sequencer())) << "what stands, stands";
  Child bob(url_);
  EXPECT_GT(token_of(bob.say("try other")), before.token().to_string());
  EXPECT_EQ(client.mutex("third").acquire().value().token().epoch(), raised);
}

TEST_F(FileFolder, TheDefaultStoreIsAFolderOfTheUser) {
  ::setenv("PAWL_STORE", url_.c_str(), 1);
  Result<Client> client = Client::open();
  ::unsetenv("PAWL_STORE");
  ASSERT_TRUE(client) << client.error().to_string();
  EXPECT_TRUE(client->mutex("job").try_acquire());
  EXPECT_TRUE(fs::exists(path_ + "/gate"));
}

}  // namespace
}  // namespace pawl::process
