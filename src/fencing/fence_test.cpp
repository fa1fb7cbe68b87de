#include <pawl/fence.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

namespace fs = std::filesystem;

Sequencer with(Token token, std::string name = "ledger") { return {.token = token, .name = std::move(name)}; }
constexpr Token old_token{1, 1}, new_token{1, 2};

std::string content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder that is gone when the test is over.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "pawl-fence-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(std::string_view name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Runs `body` in a child process; its exit code is the answer.
pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 99;
  try {
    code = body();
  } catch (...) {
  }
  ::_exit(code);  // not exit(): the parent's test runner must not run its end twice
}

int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Lets a child tell its parent "I am there".
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void fire() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void wait() {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

bool lock_is_held(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return held;
}

Sequencer of_store(std::uint64_t store, Token token) {
  Sequencer sequencer = with(token);
  sequencer.store_id = store;
  return sequencer;
}

enum class Where { process, file };

/// What holds for both sorts of fence.
class AnyFence : public testing::TestWithParam<Where> {
 protected:
  Fence make(Kind kind = Kind::mutex, FenceOptions options = {}) {
    return GetParam() == Where::process ? Fence(kind, "ledger", options)
                                        : Fence::open(folder_ / "fence", kind, "ledger", options).value();
  }

 private:
  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Both, AnyFence, testing::Values(Where::process, Where::file),
                         [](const auto& param) { return param.param == Where::process ? "process" : "file"; });

TEST_P(AnyFence, RunsTheWriteOfAHolder) {
  Fence fence = make();
  int writes = 0;
  EXPECT_TRUE(fence.admit(with(old_token), [&] { ++writes; }));
  EXPECT_TRUE(fence.admit(with(old_token), [&] { ++writes; }));
  EXPECT_TRUE(fence.admit(with(new_token), [&] { ++writes; }));
  EXPECT_EQ(writes, 3);
}

TEST_P(AnyFence, ALateWriteDoesNotRun) {
  Fence fence = make();
  ASSERT_TRUE(fence.admit(with(new_token), [] {}));
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::overtaken);
  EXPECT_EQ(fence.check(with(old_token)).code(), Errc::overtaken);
  EXPECT_TRUE(fence.check(with(new_token)));
}

TEST_P(AnyFence, ACheckRaisesNothing) {
  Fence fence = make();
  EXPECT_TRUE(fence.check(with(new_token)));
  EXPECT_TRUE(fence.admit(with(old_token), [] {}));
}

// Scenario: a client with a wrong URL uses another store, whose epoch is later.
TEST_P(AnyFence, AnotherStoreIsRefusedAndDoesNotOvertake) {
  Fence fence = make();
  ASSERT_TRUE(fence.admit(of_store(7, old_token), [] {}));
  EXPECT_EQ(fence.admit(of_store(8, Token(99, 1)), [] { FAIL(); }).code(), Errc::other_store);
  EXPECT_EQ(fence.mark(of_store(8, Token(99, 1))).code(), Errc::other_store);
  EXPECT_EQ(fence.check(of_store(8, Token(99, 1))).code(), Errc::other_store);
  EXPECT_TRUE(fence.admit(of_store(7, old_token), [] {})) << "the holder is not overtaken";
  EXPECT_TRUE(fence.admit(of_store(7, new_token), [] {})) << "nor is its successor";
}

TEST_P(AnyFence, AMarkPinsTheStore) {
  Fence fence = make();
  ASSERT_TRUE(fence.mark(of_store(7, old_token)));
  EXPECT_EQ(fence.admit(of_store(8, new_token), [] { FAIL(); }).code(), Errc::other_store);
}

TEST_P(AnyFence, AdoptMovesItToAnotherStore) {
  Fence fence = make();
  ASSERT_TRUE(fence.mark(of_store(7, Token(99, 1))));
  ASSERT_TRUE(fence.adopt(8));
  EXPECT_EQ(fence.admit(of_store(7, Token(99, 1)), [] { FAIL(); }).code(), Errc::other_store);
  EXPECT_TRUE(fence.admit(of_store(8, old_token), [] {})) << "tokens of two stores have no order";
  ASSERT_TRUE(fence.mark(of_store(8, new_token)));
  ASSERT_TRUE(fence.adopt(8));
  EXPECT_EQ(fence.check(of_store(8, old_token)).code(), Errc::overtaken) << "it was there already";
}

TEST_P(AnyFence, FollowsAStoreThatCameBackEmpty) {
  Fence fence = make(Kind::mutex, {.follow_new_store = true});
  ASSERT_TRUE(fence.admit(of_store(7, Token(5, 50)), [] {}));
  EXPECT_EQ(fence.admit(of_store(8, Token(5, 99)), [] { FAIL(); }).code(), Errc::overtaken);
  EXPECT_TRUE(fence.admit(of_store(8, Token(6, 1)), [] {}));
  EXPECT_EQ(fence.admit(of_store(7, Token(5, 51)), [] { FAIL(); }).code(), Errc::overtaken);
}

TEST_P(AnyFence, AMarkStopsTheOneBeforeAtOnce) {
  Fence fence = make();
  ASSERT_TRUE(fence.admit(with(old_token), [] {}));
  ASSERT_TRUE(fence.mark(with(new_token)));
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::overtaken);
  EXPECT_EQ(fence.mark(with(old_token)).code(), Errc::overtaken);
  EXPECT_TRUE(fence.mark(with(new_token))) << "again";
  EXPECT_TRUE(fence.admit(with(new_token), [] {}));
}

// Scenario: alice reads 100 to add 1, and is paused; bob reads 100, adds 7 and is about to write when she goes on.
TEST_P(AnyFence, AReadAfterAMarkIsNotChangedByTheOneBefore) {
  Fence fence = make();
  int balance = 100;
  ASSERT_TRUE(fence.mark(with(old_token)));
  const int alice_read = balance;
  ASSERT_TRUE(fence.mark(with(new_token)));
  const int bob_read = balance;
  EXPECT_EQ(fence.admit(with(old_token), [&] { balance = alice_read + 1; }).code(), Errc::overtaken);
  EXPECT_TRUE(fence.admit(with(new_token), [&] { balance = bob_read + 7; }));
  EXPECT_EQ(balance, 107);
}

TEST_P(AnyFence, AMarkWaitsForAWriteThatIsRunning) {
  Fence fence = make();
  std::latch writing(1), go(1);
  std::atomic<bool> written = false;
  std::jthread writer([&] {
    EXPECT_TRUE(fence.admit(with(old_token), [&] {
      writing.count_down();
      go.wait();
      written = true;
    }));
  });
  writing.wait();
  std::promise<void> marked;
  std::jthread next([&] {
    EXPECT_TRUE(fence.mark(with(new_token)));
    EXPECT_TRUE(written) << "it must not read before that";
    marked.set_value();
  });
  // Long enough for a mark that does not wait; nothing tells when one that waits has begun to.
  EXPECT_EQ(marked.get_future().wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  go.count_down();
}

TEST_P(AnyFence, RefusesAnotherLocksSequencer) {
  Fence fence = make();
  Sequencer election = with(old_token);
  election.kind = Kind::election;
  EXPECT_EQ(fence.admit(with(old_token, "other"), [] { FAIL(); }).code(), Errc::invalid_argument);
  EXPECT_EQ(fence.admit(election, [] { FAIL(); }).code(), Errc::invalid_argument);
}

TEST_P(AnyFence, KeepsReadersAndPermitsApart) {
  Fence rw = make(Kind::rw);
  Sequencer reader = with(new_token);
  reader.kind = Kind::rw;
  reader.mode = Mode::shared;
  Sequencer writer = with(old_token);
  writer.kind = Kind::rw;
  EXPECT_TRUE(rw.admit(reader, [] {}));
  EXPECT_EQ(rw.admit(writer, [] {}).code(), Errc::overtaken);
}

TEST_P(AnyFence, PassesTheErrorOfTheWriteOn) {
  Fence fence = make();
  const auto failed = fence.admit(with(new_token), [] { return Result<void>(Errc::overloaded, "disk full"); });
  EXPECT_EQ(failed.code(), Errc::overloaded);
  EXPECT_EQ(fence.admit(with(old_token), [] {}).code(), Errc::overtaken) << "the mark stays raised";
  EXPECT_TRUE(fence.admit(with(new_token), [] { return Result<void>(); }));
}

TEST_P(AnyFence, AnExceptionEndsTheExclusionAndLeavesTheMark) {
  Fence fence = make();
  EXPECT_THROW((void)fence.admit(with(new_token), [] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(fence.admit(with(old_token), [] {}).code(), Errc::overtaken);
  std::jthread([&] { EXPECT_TRUE(fence.admit(with(new_token), [] {})); });
}

void free_function() {}

TEST_P(AnyFence, TakesEverySortOfCallable) {
  Fence fence = make();
  const auto constant = [] {};
  std::function<void()> function = [] {};
  auto once = [kept = std::make_unique<int>(1)]() mutable { kept.reset(); };
  EXPECT_TRUE(fence.admit(with(old_token), constant));
  EXPECT_TRUE(fence.admit(with(old_token), function));
  EXPECT_TRUE(fence.admit(with(old_token), std::move(once)));
  EXPECT_TRUE(fence.admit(with(old_token), free_function));
}

TEST_P(AnyFence, AdmittingInsideAWriteWouldDeadlock) {
  Fence fence = make();
  Fence copy = fence;
  EXPECT_TRUE(fence.admit(with(old_token), [&] {
    EXPECT_EQ(copy.admit(with(old_token), [] {}).code(), Errc::would_deadlock);
    EXPECT_EQ(copy.mark(with(old_token)).code(), Errc::would_deadlock);
    EXPECT_EQ(copy.adopt(8).code(), Errc::would_deadlock);
  }));
  EXPECT_TRUE(fence.admit(with(old_token), [&] { EXPECT_TRUE(fence.check(with(old_token))); })) << "a check is fine";
  EXPECT_TRUE(fence.admit(with(old_token), [] {}));
}

TEST_P(AnyFence, OneWriteAtATime) {
  Fence fence = make();
  int value = 0;  // not atomic: the fence is its guard
  std::atomic<int> inside = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 50; ++j) {
          EXPECT_TRUE(fence.admit(with(old_token), [&] {
            EXPECT_EQ(inside.fetch_add(1), 0);
            ++value;
            inside.fetch_sub(1);
          }));
        }
      });
    }
  }
  EXPECT_EQ(value, 200);
}

TEST_P(AnyFence, TokensOfAdmittedWritesNeverGoBack) {
  Fence fence = make();
  std::vector<Token> admitted;  // guarded by the fence
  std::latch start(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        for (std::uint64_t j = 0; j < 25; ++j) {
          const Token token(1, 1 + j * 4 + i);
          (void)fence.admit(with(token), [&] { admitted.push_back(token); });
        }
      });
    }
  }
  EXPECT_FALSE(admitted.empty());
  EXPECT_TRUE(std::is_sorted(admitted.begin(), admitted.end()));
}

TEST(ProcessFence, RefusesANameThatNoLockCanHave) {
  EXPECT_THROW(Fence(Kind::mutex, ""), Exception);
  EXPECT_THROW(Fence(Kind::mutex, std::string(5000, 'a')), Exception);
}

class FileFenceTest : public testing::Test {
 protected:
  Fence open() { return Fence::open(path(), Kind::mutex, "ledger").value(); }
  Errc refusal() { return Fence::open(path(), Kind::mutex, "ledger").code(); }
  fs::path path() const { return folder / "fence"; }
  fs::path lock_path() const { return folder / "fence.lock"; }
  void put(std::string_view text) { std::ofstream(path()) << text; }

  Folder folder;
};

TEST_F(FileFenceTest, RemembersItsMarksAfterItWasClosed) {
  ASSERT_TRUE(open().admit(with(new_token), [] {}));
  EXPECT_EQ(open().admit(with(old_token), [] { FAIL(); }).code(), Errc::overtaken);
}

TEST_F(FileFenceTest, TheMarkIsInTheFileBeforeTheWriteRuns) {
  Fence fence = open();
  EXPECT_EQ(content(path()).find(new_token.to_string()), std::string::npos);
  EXPECT_TRUE(fence.admit(with(new_token), [&] {
    EXPECT_NE(content(path()).find("exclusive " + new_token.to_string() + "\n"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "fence.tmp"));
    EXPECT_TRUE(lock_is_held(lock_path()));
  }));
  EXPECT_FALSE(lock_is_held(lock_path()));
}

TEST_F(FileFenceTest, TheFileIsReplacedOnlyWhenAMarkChanges) {
  const auto inode = [&] {
    struct stat status {};
    EXPECT_EQ(::stat(path().c_str(), &status), 0);
    return status.st_ino;
  };
  Fence fence = open();
  ASSERT_TRUE(fence.admit(with(new_token), [] {}));
  const auto before = inode();
  ASSERT_TRUE(fence.admit(with(new_token), [] {}));
  ASSERT_TRUE(open().admit(with(new_token), [] {})) << "found, not made: confirmed on disk";
  EXPECT_EQ(inode(), before);
}

TEST_F(FileFenceTest, KeepsTheModeOfItsFile) {
  Fence fence = open();
  fs::permissions(path(), fs::perms(0604));
  ASSERT_TRUE(fence.admit(with(new_token), [] {}));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms(0604));
}

TEST_F(FileFenceTest, ALeftoverOfACrashIsNoHindrance) {
  std::ofstream(folder / "fence.tmp") << "half a fi";
  EXPECT_TRUE(open().admit(with(new_token), [] {}));
}

// Fails when replace() forgets that the temporary file could not be written.
TEST_F(FileFenceTest, AMarkThatCannotBeWrittenAdmitsNobodyAndChangesNothing) {
  ASSERT_TRUE(open().admit(with(old_token), [] {}));
  const std::string before = content(path());
  const pid_t child = start_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{.rlim_cur = 10, .rlim_max = 10};  // as on a full disk: the file ends in the middle
    if (::setrlimit(RLIMIT_FSIZE, &full) != 0) return 1;
    bool written = false;
    const auto admitted = open().admit(with(new_token), [&] { written = true; });
    return admitted.code() == Errc::store_unavailable && !written ? 0 : 2;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(content(path()), before);
  EXPECT_FALSE(fs::exists(folder / "fence.tmp"));
  EXPECT_TRUE(open().admit(with(old_token), [] {})) << "the mark is still where it was";
}

TEST_F(FileFenceTest, WhereTheTemporaryFileCannotBeMadeNobodyIsAdmitted) {
  Fence fence = open();
  fs::create_directories(folder / "fence.tmp/full");
  EXPECT_FALSE(fence.admit(with(new_token), [] { FAIL(); }));
  fs::remove_all(folder / "fence.tmp");
  EXPECT_TRUE(fence.admit(with(new_token), [] {}));
}

TEST_F(FileFenceTest, AnotherProcessOvertakes) {
  Fence fence = open();
  ASSERT_TRUE(fence.admit(with(old_token), [] {}));
  const pid_t child = start_child([&] { return fence.admit(with(new_token), [] {}) ? 0 : 1; });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::overtaken);
}

TEST_F(FileFenceTest, ProcessesWriteOneAtATime) {
  const fs::path counter = folder / "counter";
  std::ofstream(counter) << 0;
  Fence fence = open();
  const auto work = [&](Fence own) {
    for (int i = 0; i < 50; ++i) {
      const auto done = own.admit(with(old_token), [&] {
        const int value = std::stoi(content(counter));
        std::ofstream(counter) << value + 1;
      });
      if (!done) return 1;
    }
    return 0;
  };
  // Two share the parent's fence through fork, two open their own.
  std::vector<pid_t> children;
  children.reserve(4);
  for (int i = 0; i < 4; ++i) children.push_back(start_child([&] { return work(i % 2 == 0 ? fence : open()); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(content(counter), "200");
}

TEST_F(FileFenceTest, AProcessThatDiesInItsWriteLetsGo) {
  Fence fence = open();
  Signal inside;
  const pid_t child = start_child([&] {
    (void)fence.admit(with(new_token), [&] {
      inside.fire();
      for (;;) ::pause();
    });
    return 0;
  });
  inside.wait();
  EXPECT_TRUE(lock_is_held(lock_path()));
  ::kill(child, SIGKILL);
  wait_for(child);
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::overtaken) << "its mark was durable";
  EXPECT_TRUE(fence.admit(with(new_token), [] {}));
}

TEST_F(FileFenceTest, AChildForkedInAWriteDoesNotEndItsParentsExclusion) {
  Fence fence = open();
  pid_t child = 0;
  try {
    EXPECT_TRUE(fence.admit(with(new_token), [&] {
      child = ::fork();
      if (child == 0) throw std::runtime_error("the child leaves admit() by the back door");
      EXPECT_EQ(wait_for(child), 7);
      EXPECT_TRUE(lock_is_held(lock_path()));
    }));
  } catch (const std::runtime_error&) {
    ::_exit(7);
  }
  EXPECT_FALSE(lock_is_held(lock_path()));
}

TEST_F(FileFenceTest, AChildForkedInAWriteDoesNotKeepTheLock) {
  Fence fence = open();
  Signal go;
  pid_t child = 0;
  ASSERT_TRUE(fence.admit(with(old_token), [&] {
    child = start_child([&] {
      go.wait();
      return 0;
    });
  }));
  EXPECT_FALSE(lock_is_held(lock_path()));
  go.fire();
  EXPECT_EQ(wait_for(child), 0);
}

TEST_F(FileFenceTest, AReplacedLockFileIsNoticed) {
  Fence fence = open();
  fs::remove(lock_path());
  EXPECT_TRUE(fence.admit(with(old_token), [&] { EXPECT_TRUE(lock_is_held(lock_path())); }));
}

TEST_F(FileFenceTest, AVanishedFileShutsTheFence) {
  Fence fence = open();
  ASSERT_TRUE(fence.admit(with(new_token), [] {}));
  fs::remove(path());
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::store_unavailable);
  EXPECT_EQ(fence.check(with(old_token)).code(), Errc::store_unavailable);
}

TEST_F(FileFenceTest, AnotherLocksFileIsRefused) {
  ASSERT_TRUE(Fence::open(path(), Kind::mutex, "other"));
  const auto refused = Fence::open(path(), Kind::mutex, "ledger");
  EXPECT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find("mutex \"other\""), std::string::npos) << refused.error().message;
  EXPECT_EQ(Fence::open(path(), Kind::rw, "other").code(), Errc::invalid_argument);
}

TEST_F(FileFenceTest, GarbageIsRefusedByPathAndLeftAlone) {
  put("127.0.0.1 localhost\n");
  const auto refused = Fence::open(path(), Kind::mutex, "ledger");
  EXPECT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find(path().string()), std::string::npos) << refused.error().message;
  EXPECT_EQ(content(path()), "127.0.0.1 localhost\n");
  EXPECT_FALSE(fs::exists(lock_path()));
  put("");
  EXPECT_EQ(refusal(), Errc::invalid_argument);
}

TEST_F(FileFenceTest, AFileThatTurnsBadShutsTheFence) {
  Fence fence = open();
  put("garbage");
  EXPECT_EQ(fence.admit(with(old_token), [] { FAIL(); }).code(), Errc::invalid_argument);
}

TEST_F(FileFenceTest, ANewerLayoutIsUnsupported) {
  put("pawl-fence 3\nsomething new\n");
  EXPECT_EQ(refusal(), Errc::unsupported);
}

TEST_F(FileFenceTest, AFileOfAnOlderPawlIsPinnedByItsNextMark) {
  const std::string old = "pawl-fence 1\nkind mutex\nname ledger\nexclusive " + new_token.to_string() + "\nshared " +
                          std::string(32, '0') + "\nend\n";
  put(old);
  Fence fence = open();
  EXPECT_EQ(fence.admit(of_store(7, old_token), [] { FAIL(); }).code(), Errc::overtaken);
  EXPECT_EQ(content(path()), old) << "a refusal changes nothing";
  EXPECT_TRUE(fence.mark(of_store(7, new_token)));
  EXPECT_TRUE(content(path()).starts_with("pawl-fence 2\n")) << content(path());
  EXPECT_EQ(open().admit(of_store(8, Token(99, 1)), [] { FAIL(); }).code(), Errc::other_store);
}

TEST_F(FileFenceTest, TheStoreIsPinnedForAllProcesses) {
  Fence fence = open();
  EXPECT_EQ(wait_for(start_child([&] { return fence.mark(of_store(7, old_token)) ? 0 : 1; })), 0);
  EXPECT_EQ(fence.admit(of_store(8, new_token), [] { FAIL(); }).code(), Errc::other_store);
  EXPECT_EQ(wait_for(start_child([&] { return fence.adopt(8) ? 0 : 1; })), 0);
  EXPECT_EQ(fence.admit(of_store(7, new_token), [] { FAIL(); }).code(), Errc::other_store);
  EXPECT_TRUE(open().admit(of_store(8, old_token), [] {}));
}

TEST_F(FileFenceTest, AMarkIsInTheFileWhenItReturns) {
  ASSERT_TRUE(open().mark(of_store(7, new_token)));
  EXPECT_NE(content(path()).find("store 0000000000000007\nexclusive " + new_token.to_string() + "\n"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "fence.tmp"));
}

TEST_F(FileFenceTest, OnlyRegularFilesAreUsed) {
  std::ofstream(folder / "target") << "";
  fs::create_symlink(folder / "target", path());
  EXPECT_EQ(refusal(), Errc::invalid_argument);
  fs::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(refusal(), Errc::invalid_argument);
  fs::remove(path());
  fs::create_directory(path());
  EXPECT_EQ(refusal(), Errc::invalid_argument);
}

TEST_F(FileFenceTest, ASymbolicLinkInPlaceOfTheLockFileIsRefused) {
  fs::create_symlink(folder / "target", lock_path());
  EXPECT_EQ(refusal(), Errc::invalid_argument);
  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST_F(FileFenceTest, AnUnusableFolderIsAnError) {
  EXPECT_EQ(Fence::open(folder / "none/fence", Kind::mutex, "ledger").code(), Errc::store_unavailable);
  put("");
  EXPECT_EQ(Fence::open(path() / "below", Kind::mutex, "ledger").code(), Errc::store_unavailable);
  EXPECT_FALSE(Fence::open("/proc/fence", Kind::mutex, "ledger"));
}

TEST_F(FileFenceTest, AnUnwritableFolderIsPermissionDenied) {
  constexpr uid_t nobody = 65534;
  fs::create_directory(folder / "shut");
  fs::permissions(folder / "", fs::perms(0755));
  fs::permissions(folder / "shut", fs::perms(0555));
  const pid_t child = start_child([&] {
    if (::geteuid() == 0 && ::setuid(nobody) != 0) return 1;  // root may write everywhere
    return Fence::open(folder / "shut/fence", Kind::mutex, "ledger").code() == Errc::permission_denied ? 0 : 2;
  });
  EXPECT_EQ(wait_for(child), 0);
}

TEST_F(FileFenceTest, APathMustNameAFile) {
  for (const fs::path& bad :
       {fs::path(), fs::path("."), fs::path("/"), folder / "x/", folder / "..", folder / std::string("a\0b", 3)}) {
    EXPECT_EQ(Fence::open(bad, Kind::mutex, "ledger").code(), Errc::invalid_argument) << bad;
  }
  EXPECT_EQ(Fence::open(path(), Kind::mutex, "").code(), Errc::invalid_argument);
}

TEST_F(FileFenceTest, TwoWaysToOneFileAreOneFence) {
  Fence fence = open();
  Fence other = Fence::open(folder / "./fence", Kind::mutex, "ledger").value();
  EXPECT_TRUE(fence.admit(with(old_token),
                          [&] { EXPECT_EQ(other.admit(with(old_token), [] {}).code(), Errc::would_deadlock); }));
}

}  // namespace
}  // namespace pawl
