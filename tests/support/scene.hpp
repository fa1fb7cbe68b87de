#pragma once

#include "lock/client_core.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "tests/support/faulty_store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

/// What a scene is made of: actors, and what they can do.
namespace pawl::scene {

using base::awaitable;
using base::Runtime;
using base::Time;
using test::FaultyStore;
using test::Operation;
using test::ScriptedFaults;
using namespace std::chrono_literals;

class World;

/// An actor: a full client over a fault layer of its own. Copies are the same actor.
class Actor {
 public:
  Actor(World& world, std::shared_ptr<lock::ClientCore> core, std::shared_ptr<FaultyStore> store,
        std::shared_ptr<ScriptedFaults> faults)
      : world_(&world), core_(std::move(core)), store_(std::move(store)), faults_(std::move(faults)) {}

  World& world() const { return *world_; }
  const std::shared_ptr<lock::ClientCore>& core() const { return core_; }
  Runtime& runtime() const { return core_->runtime(); }
  ScriptedFaults& faults() const { return *faults_; }
  FaultyStore& store() const { return *store_; }
  Metrics metrics() const { return core_->context().telemetry.snapshot(); }
  /// How many requests of that sort it has sent.
  std::size_t sent(Operation operation) const { return faults_->count(operation); }
  /// How many notices of that sort it was sent and has heard.
  std::size_t heard(store::Notice::What what) const { return faults_->count(what); }
  /// Throws pawl::Exception.
  std::shared_ptr<lock::LockCore> mutex(std::string_view name, LockOptions options = {}) const {
    return lock(Kind::mutex, name, options);
  }
  std::shared_ptr<lock::LockCore> lock(Kind kind, std::string_view name, LockOptions options = {}) const {
    return std::move(lock::ClientCore::lock(core_, kind, name, options)).value();
  }

 private:
  World* world_;
  std::shared_ptr<lock::ClientCore> core_;
  std::shared_ptr<FaultyStore> store_;
  std::shared_ptr<ScriptedFaults> faults_;
};

/// Something that was started and goes on by itself.
template <class T>
class Started {
 public:
  struct State {
    std::mutex mutex = {};
    std::optional<T> result = {};
  };
  Started(World& world, std::shared_ptr<State> state) : world_(&world), state_(std::move(state)) {}

  bool ready() const {
    const std::lock_guard lock(state_->mutex);
    return state_->result.has_value();
  }
  /// Waits for it, once. Throws when it hangs.
  T get();

  static awaitable<void> keep(awaitable<T> work, std::shared_ptr<State> state) {
    T result = co_await std::move(work);
    const std::lock_guard lock(state->mutex);
    state->result.emplace(std::move(result));
  }
  /// The same for work that blocks, on a thread of its own.
  static void keep_blocking(const std::function<T()>& work, const std::shared_ptr<State>& state) {
    T result = work();
    const std::lock_guard lock(state->mutex);
    state->result.emplace(std::move(result));
  }

 private:
  World* world_;
  std::shared_ptr<State> state_;
};

using StartedHold = Started<Result<Hold>>;

/// Whoever waits for it waits for all that was started before to have begun.
awaitable<bool> nothing();

StartedHold start_acquire(const Actor& actor, std::string_view name, AcquireOptions options = {},
                          std::stop_token stop = {});
/// The same with options of the lock.
StartedHold start_acquire(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex, AcquireOptions options = {},
                          std::stop_token stop = {}, const lock::Wanted& wanted = {});
/// By the coroutine form in every world: those that are started one after the other queue up in that order. Of threads, none
/// can tell which of them comes first.
StartedHold start_acquire_in_order(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex,
                                   AcquireOptions options = {}, const lock::Wanted& wanted = {});
Result<Hold> acquire(const Actor& actor, std::string_view name, AcquireOptions options = {}, std::stop_token stop = {});
Result<Hold> try_acquire(const Actor& actor, std::string_view name, AcquireOptions options = {});
/// Throws pawl::Exception when it is not granted.
Hold must_acquire(const Actor& actor, std::string_view name, AcquireOptions options = {});

/// Lets go, and waits for the store's word.
Result<void> release(const Actor& actor, Hold& hold);
/// What was started before has begun.
Started<Result<void>> start_release(const Actor& actor, Hold& hold);
/// As start_acquire_in_order(): what is started later comes later.
Started<Result<void>> start_release_in_order(const Actor& actor, Hold& hold);

Result<void> check(const Actor& actor, const Sequencer& sequencer);
Result<void> downgrade(const Actor& actor, Hold& hold);
Result<LockView> inspect(const Actor& actor, std::string_view name, Kind kind = Kind::mutex);
Result<std::vector<LockView>> list(const Actor& actor, std::string_view prefix = {});
Result<void> revoke(const Actor& actor, std::string_view name, RevokeOptions options = {});
/// Within a hang guard, unless the time is said.
Result<void> close(const Actor& actor, std::optional<Duration> within = {});

}  // namespace pawl::scene
