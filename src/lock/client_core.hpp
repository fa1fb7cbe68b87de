#pragma once

#include "lock/other_kinds.hpp"
#include "lock/settings.hpp"
#include "session/keeper.hpp"

#include <pawl/client.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::lock {

using base::awaitable;
using base::Deadline;
using base::Runtime;

class LockCore;
class NamedLock;

/// What all handles of one lock in a client must agree on.
struct LockAgreement {
  store::Scheme* scheme;
  local::PassBounds bounds;
  WaitStyle waiting = WaitStyle::notified;

  friend bool operator==(const LockAgreement&, const LockAgreement&) = default;
};

/// What stands behind a Client: the coroutine form of the face. The blocking face, the contract suite and the simulation
/// all use this one.
/// Threads: mutex() and metrics() from any thread; coroutines on the executor.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  /// Errors: invalid_argument (unknown scheme, bad durations).
  static Result<std::shared_ptr<ClientCore>> make(Runtime& runtime, std::shared_ptr<store::Store> store,
                                                  const ClientOptions& options);

  const store::Capabilities& capabilities() const { return scheme_.capabilities(); }
  awaitable<Result<void>> connect() { return connect(Deadline::never()); }
  /// Within the client's timeout, and not after `deadline`.
  awaitable<Result<void>> connect(Deadline deadline);

  /// A handle of the lock of that kind and name. It keeps `self` alive. Errors: invalid_argument, unsupported.
  static Result<std::shared_ptr<LockCore>> lock(const std::shared_ptr<ClientCore>& self, Kind kind,
                                                std::string_view name, const LockOptions& options);
  static Result<std::shared_ptr<LockCore>> mutex(const std::shared_ptr<ClientCore>& self, std::string_view name,
                                                 const LockOptions& options) {
    return lock(self, Kind::mutex, name, options);
  }

  awaitable<Result<void>> check(Sequencer sequencer);
  awaitable<Result<LockView>> inspect(std::string name, Kind kind);
  awaitable<Result<std::vector<LockView>>> other_kinds(std::string name, Kind kind);
  awaitable<Result<std::vector<LockView>>> list(std::string prefix);
  awaitable<Result<std::uint64_t>> epoch();
  awaitable<Result<std::uint64_t>> raise_epoch();
  awaitable<Result<void>> revoke(std::string name, std::string claim, bool now, Kind kind);
  awaitable<Result<void>> close(Duration within);

  Runtime& runtime() const { return context_->runtime; }
  session::Context& context() const { return *context_; }
  std::uint64_t store_id() const { return context_->store->id(); }
  bool closed() const { return closed_; }

  /// `closed` when the client was closed, or belongs to the process before fork().
  Result<void> usable() const;

  std::shared_ptr<local::LocalLock> make_queue(const store::LockKey& key, const LockAgreement& agreed) const;
  /// That lock was just granted: looks for other kinds of its name and reports them, in the background, where there is an
  /// observer and it is time for a look. Any thread.
  void look_for_other_kinds(const store::LockKey& key, store::Scheme& scheme);
  /// A NamedLock ends: its place in the table is free.
  void forget(const store::LockKey& key);

 private:
  ClientCore(std::shared_ptr<session::Context> context, store::Scheme& scheme, Defaults defaults);
  static Result<std::shared_ptr<NamedLock>> named_lock(const std::shared_ptr<ClientCore>& self,
                                                       const store::LockKey& key, const LockAgreement& agreed);
  Result<store::Scheme*> find_scheme(std::string_view name) const;
  void attach_store(const ClientOptions& options);
  void close_locks();
  Deadline patience() const;
  awaitable<Result<std::string>> only_holder(store::LockKey key);
  awaitable<void> report_other_kinds(store::LockKey key, store::Scheme* scheme);

  const std::shared_ptr<session::Context> context_;
  const std::shared_ptr<session::Keeper> keeper_;
  store::Scheme& scheme_;
  const Defaults defaults_;
  std::atomic<bool> closed_{false};
  LookAllowance looks_;
  std::set<store::LockKey> mixed_ = {};  // of which another kind was reported; on the executor only
  std::mutex mutex_;                     // guards the table
  std::map<store::LockKey, std::weak_ptr<NamedLock>> locks_;
};

/// The handle that the face shares: when the last one goes, the client says goodbye to the store, for a bounded time.
std::shared_ptr<ClientCore> make_handle(std::shared_ptr<ClientCore> core);

}  // namespace pawl::lock
