#pragma once

#include "base/runtime.hpp"
#include "store/file/folder.hpp"
#include "store/file/gate.hpp"
#include "store/file/mail.hpp"
#include "store/file/tables.hpp"
#include "store/file/token_file.hpp"
#include "store/file/transaction.hpp"
#include "store/notices.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::store::file {

class Listener;

/// Everything of one folder that one process has open: one per process and folder, whatever the number of clients.
/// Limit:   after fork() the child must not touch it; its destructor does nothing there.
/// Threads: all.
class Environment : public std::enable_shared_from_this<Environment> {
 public:
  /// How an attempt ended.
  struct Attempt {
    enum class End : std::uint8_t {
      done,
      busy,           ///< somebody else is at it: not done
      out_of_tokens,  ///< not done: reserve_tokens(), then again
      gone,           ///< the folder was deleted or replaced
      failed,         ///< see the error
    } end = End::done;
    Error error = {};
  };

  /// The one of this process, opened if need be. May block on the disk: never on the executor.
  /// Errors: `busy` = somebody else is just opening the folder, the sentence says who; try again.
  static Result<std::shared_ptr<Environment>> open(const FolderOptions& options, base::Runtime& runtime,
                                                   Deadline deadline);

  Environment(Folder folder, Gate gate, TokenFile tokens, Database database);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

  /// One transaction: sweeps, runs `work`, commits, sends the letters. `patience`: how long to sleep for the writer's
  /// mutex; 0: a few microseconds of trying. `work` may run again and must only touch the tables and its answer.
  using Work = std::function<void(Tables&)>;
  Attempt attempt(const Work& work, base::Runtime& runtime, Duration patience);

  /// Are they so few that it is time to reserve more? True for one caller at a time, until it says that it has done so.
  bool must_reserve() { return low_on_tokens_ && !reserving_.exchange(true); }
  void has_reserved() { reserving_ = false; }
  /// Is there more to be swept than one transaction does? True for one caller at a time, as above.
  bool must_sweep() { return more_to_sweep_ && !sweeping_.exchange(true); }
  bool more_to_sweep() const { return more_to_sweep_; }
  void has_swept() { sweeping_ = false; }
  /// Writes a higher mark to the disk, and a new epoch if wanted; answers the epoch. Blocks: never on the executor.
  /// Errors: `busy` = somebody else is just at it; try again.
  Result<std::uint64_t> reserve_tokens(base::Runtime& runtime, bool new_epoch, Duration patience);

  /// After every change of ours to the folder or its files: what others change later can be told from it.
  void note_write(base::Runtime& runtime) const { gate_.note_write(runtime.unix_milliseconds()); }

  const Folder& folder() const { return folder_; }
  const Gate& gate() const { return gate_; }
  ProcessKey process() const { return process_; }
  std::uint64_t store_id() const { return store_id_; }
  /// Was it deleted, moved or replaced under us? `thorough`: looks at the path, too.
  bool gone(bool thorough) const;
  /// Did this process fork off from the one that opened it?
  bool inherited() const;

  /// For claims of this process.
  Notices& notices() { return notices_; }

  /// The one of this runtime.
  Result<std::shared_ptr<Listener>> listener(base::Runtime& runtime);

 private:
  friend class Opening;
  /// In a transaction of its own, without a sweep: that may need tokens. Without note_write(): whoever opens a folder must
  /// not do that before a new epoch has begun, where one is due.
  Result<void> change_counters(const std::function<void(Counters&)>& change, Duration patience);
  Attempt transact(const Work& work, base::Runtime& runtime, Time now, std::vector<Letter>& letters);
  void send(const std::vector<Letter>& letters);
  Error no_entry() const;
  bool deleted(Time now);
  Result<TokenMark> raise_mark(base::Runtime& runtime, const Counters& used, bool new_epoch);

  Folder folder_;
  Gate gate_;
  TokenFile tokens_;
  Database database_;
  const std::uint64_t generation_;
  const pid_t pid_;
  ProcessKey process_ = 0;
  std::uint64_t store_id_ = 0;
  PostOffice post_office_;
  Notices notices_;

  std::atomic<Time> next_look_{Time::min()};
  std::mutex reserve_mutex_;  // one reservation at a time in this process
  std::atomic<bool> low_on_tokens_{false};
  std::atomic<bool> reserving_{false};
  std::atomic<bool> more_to_sweep_{false};
  std::atomic<bool> sweeping_{false};

  std::mutex mutex_;  // guards all below
  std::unordered_map<base::Runtime*, std::weak_ptr<Listener>> listeners_;
};

/// How many tokens are reserved at a time.
inline constexpr std::uint64_t token_block = 10'000;

}  // namespace pawl::store::file
