#pragma once

#include "store/file/folder.hpp"
#include "store/file/place.hpp"
#include "store/file/writer_mutex.hpp"

#include <pawl/result.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace pawl::store::file {

/// A process that uses a folder: a random number, and the byte of the gate that it keeps locked while it lives.
using ProcessKey = std::uint64_t;

/// Who is alive?
class Roll {
 public:
  virtual bool alive(ProcessKey process) const = 0;

 protected:
  ~Roll() = default;
};

/// The file through which every process of a folder goes: a header that tells where its records mean something, the
/// writer's mutex, and record locks (F_SETLK), which the kernel drops when a process dies, whatever its children do.
/// Limit:   a process must open it once at most: closing any descriptor of it drops all its record locks (POSIX).
/// Threads: all; the record locks are the process's, so threads exclude each other by other means.
class Gate final : public Roll {
 public:
  static Result<Gate> open(const Folder& folder);
  Gate(Gate&& other) noexcept;
  Gate& operator=(Gate&&) = delete;
  ~Gate();

  /// Nothing: a new file.
  Result<std::optional<Found>> found() const;
  /// A header and a mutex of our own; not finished. Only while nobody uses the folder.
  Result<void> make(const Place& here);
  /// What is there already. `alone`: nobody uses it, so the mutex is made anew.
  Result<void> join(bool alone);
  void finish(const Place& here, ino_t database);
  /// Which file the records are in.
  ino_t database() const;
  WriterMutex& mutex() const;
  /// The wall clock, in milliseconds, after the store's own last change to the folder. The file system stamps changes by
  /// others (a restored backup) with a later time.
  std::uint64_t written() const;
  void note_write(std::uint64_t unix_ms) const;

  /// Counts the letters that a process could not be given because its mailbox was full. Processes may share a counter.
  std::atomic<std::uint32_t>& lost_letters(ProcessKey process) const;

  /// The bytes that stand for something else than a process.
  enum class Right : std::uint8_t { open = 0, reserve_tokens = 1 };
  enum class Sharing : std::uint8_t { alone, together };
  /// Nothing: it is ours, alone or together with all who want it together. Else: who has it.
  std::optional<Somebody> try_take(Right right, Sharing sharing = Sharing::alone) const;
  void give_back(Right right) const;

  /// May this process use one of the user's inotify instances, of which there are 128 for all programs? The folder's
  /// processes take half of them at most.
  bool try_take_inotify() const;

  /// From now on this process is alive. False: the number is in use already.
  bool announce(ProcessKey process);
  /// Ours is alive by definition: the kernel does not show us our own locks.
  bool alive(ProcessKey process) const override { return process == own_ || owner(process).has_value(); }
  /// Who has locked that number, other than us.
  std::optional<Somebody> owner(ProcessKey process) const;
  /// Any process but ours.
  std::optional<Somebody> anybody() const;

  /// Was the file deleted under us?
  bool gone() const;
  std::uint64_t inode() const { return inode_; }
  std::uint64_t device() const { return device_; }

 private:
  struct Header;
  explicit Gate(Fd fd) : fd_(std::move(fd)) {}
  Header& header() const { return *static_cast<Header*>(memory_); }
  std::optional<Somebody> look(off_t start, off_t length) const;
  bool take(off_t start, Sharing sharing = Sharing::alone) const;
  Result<void> map();

  Fd fd_;
  std::string shown_ = {};
  void* memory_ = nullptr;
  ProcessKey own_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace pawl::store::file
