#pragma once

#include <pawl/election.hpp>
#include <pawl/lock_view.hpp>
#include <pawl/metrics.hpp>
#include <pawl/mutex.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>
#include <pawl/semaphore.hpp>
#include <pawl/sequencer.hpp>
#include <pawl/shared_mutex.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pawl {

namespace lock {
class Access;
class ClientCore;
}  // namespace lock

/// A connection to one store, and the door to its locks.
/// Promise: cheap to copy; the connection lives while any handle, lock or hold of it does.
/// Limit:   after fork() every handle in the child is inert: calls answer `closed`, destructors do nothing.
/// Threads: safe to share.
/// Errors:  invalid_argument, store_unavailable, permission_denied, unsupported.
class Client {
 public:
  /// "memory:NAME" is shared within the process, "memory:" is private.
  static Result<Client> open(std::string_view url, ClientOptions options = {});
  /// The default store: PAWL_STORE, else file:///var/lib/pawl for root, and file://HOME/.local/state/pawl for others (the
  /// home that the user database tells, so that cron and a shell meet in one folder).
  static Result<Client> open(ClientOptions options = {});
  /// Like open(), and throws pawl::Exception.
  explicit Client(std::string_view url, ClientOptions options = {});

  /// Throws pawl::Exception (invalid_argument) for an empty name, one above 4 KiB, an unknown scheme, or options on
  /// which another handle of this lock disagrees.
  Mutex mutex(std::string_view name, LockOptions options = {});
  SharedMutex shared_mutex(std::string_view name, LockOptions options = {});
  /// All who use that name must say the same number of permits.
  Semaphore semaphore(std::string_view name, std::uint32_t permits, LockOptions options = {});

  /// Throws as mutex() does.
  Election election(std::string_view name, LockOptions options = {});

  /// Does that grant still stand at the store? `overtaken` if not. It cannot judge a token's sub.
  Result<void> check(const Sequencer& sequencer);

  /// Who holds it, since when, and who waits?
  Result<LockView> inspect(std::string_view name, Kind kind = Kind::mutex);
  /// The other kinds of that name that are held or waited for, as far as a lock of this kind does not exclude them: empty
  /// unless somebody uses one name for two kinds. (With names=raw on ZooKeeper some kinds do exclude each other.)
  Result<std::vector<LockView>> other_kinds(std::string_view name, Kind kind);
  /// Every lock in use whose name begins with the prefix, with its holders and waiters: by kind, then by name.
  Result<std::vector<LockView>> list(std::string_view prefix = {});
  /// Asks the holder to let go (its release_requested() fires), or takes the lock away at once.
  Result<void> revoke(std::string_view name, RevokeOptions options = {}, Kind kind = Kind::mutex);

  /// Which life of the store this is: the first part of every token that it hands out now.
  Result<std::uint64_t> epoch();
  /// Begins another life, after a backup was restored: every token from now on is larger than any before. Grants that
  /// stand keep theirs. Answers the new epoch.
  Result<std::uint64_t> raise_epoch();

  /// Which store this is: the first part of every sequencer.
  std::uint64_t store_id() const noexcept;
  Metrics metrics() const;

  /// Releases what was let go, ends what is still held as lost, and says goodbye to the store, for at most `within`.
  /// It also waits until the observer has been told of everything (all observers of a process are called by one thread). When
  /// it has succeeded, the observer is not called any more. The destructor of the last handle does the same.
  Result<void> close(Duration within = std::chrono::seconds(5));

 private:
  friend class lock::Access;
  explicit Client(std::shared_ptr<lock::ClientCore> core) noexcept;
  std::shared_ptr<lock::ClientCore> core_;
};

}  // namespace pawl
