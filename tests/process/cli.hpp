#pragma once

#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

/// Tests of the command line run the built `pawl` as real processes, in a temporary folder.
namespace pawl::test {

using Words = std::vector<std::string>;

/// How a process ended: its exit code, or 1000 + the signal that killed it, or -1 when it hung and was killed.
struct Ended {
  int code = -1;
  std::string out = {};
  std::string err = {};
};
inline constexpr int died_of = 1000;

/// A process under way. Killed at the end of the scene if it has not ended by then.
class Process {
 public:
  /// `environment` is all that it has. Its output goes to two files below `folder`.
  Process(const Words& command, const Words& environment, const std::string& folder);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  std::string out() const;
  std::string err() const;
  /// Waits until the text stands in its output; false when it hangs.
  bool says(const std::string& text) const;
  Ended wait();
  bool running() const;

 private:
  pid_t pid_ = -1;
  std::string out_file_;
  std::string err_file_;
};

/// A process that is alone on a terminal of its own, with keys to type and a screen to read.
class Terminal {
 public:
  Terminal(const Words& command, const Words& environment);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  pid_t pid() const { return pid_; }
  void type(const std::string& keys) const;
  /// Waits until the text stands on the screen; false when it hangs.
  bool says(const std::string& text);
  /// The name of the program that has the terminal now.
  std::string foreground() const;
  /// Everything that was ever on it.
  const std::string& screen();
  int wait();

 private:
  pid_t pid_ = -1;
  int master_ = -1;
  std::string screen_;
};

std::string read_file(const std::string& path);
/// Whether there is a live process of that number; a zombie is none.
bool alive(pid_t pid);
/// The children of a process.
std::vector<pid_t> children_of(pid_t parent);
/// Of a `pawl run` that has started its command, by the pid that its user knows; 0 if there is none.
pid_t keeper_of(pid_t pawl_run);
pid_t command_of(pid_t pawl_run);

class CliTest : public testing::Test {
 protected:
  std::string store() const { return "file://" + (folder_ / "store"); }

  /// pawl with these words, on the store of this test.
  Process start(Words words) const;
  Ended pawl(Words words) const { return start(std::move(words)).wait(); }
  /// With another environment than PATH and PAWL_STORE.
  Process start_with(Words environment, Words words) const;

  /// `pawl run NAME -- sh -c ...`: has the lock, says "started" and waits until it is killed.
  Process holder(const std::string& name, Words options = {}) const;
  /// Waits until that many wait for the lock.
  bool queued(const std::string& name, std::size_t waiters) const;
  /// Nobody holds or awaits anything any more.
  bool nothing_left() const;

  TemporaryFolder folder_;
};

/// A sh script that says so when it has begun, and sleeps until a signal comes.
inline const std::string sleeper = "echo started; exec sleep 1000";

}  // namespace pawl::test
