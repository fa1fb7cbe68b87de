#pragma once

#include "lock/client_core.hpp"
#include "lock/hold_core.hpp"
#include "lock/mutex_core.hpp"
#include "tests/support/faulty_store.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::testing {

using base::awaitable;
using base::Runtime;
using base::Time;
using namespace std::chrono_literals;

/// An actor: a full client over a fault layer of its own.
class Actor {
 public:
  Actor(std::shared_ptr<lock::ClientCore> core, std::shared_ptr<FaultyStore> store, std::shared_ptr<ScriptedFaults> faults)
      : core_(std::move(core)), store_(std::move(store)), faults_(std::move(faults)) {}

  const std::shared_ptr<lock::ClientCore>& core() const { return core_; }
  Runtime& runtime() const { return core_->runtime(); }
  ScriptedFaults& faults() const { return *faults_; }
  FaultyStore& store() const { return *store_; }
  /// Throws pawl::Exception.
  std::shared_ptr<lock::MutexCore> mutex(std::string_view name, LockOptions options = {}) const {
    return std::move(lock::ClientCore::mutex(core_, name, options)).value();
  }

 private:
  std::shared_ptr<lock::ClientCore> core_;
  std::shared_ptr<FaultyStore> store_;
  std::shared_ptr<ScriptedFaults> faults_;
};

/// The result of something that was started and goes on by itself.
template <class T>
class Started {
 public:
  struct State {
    std::mutex mutex = {};
    std::optional<T> result = {};
  };
  explicit Started(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool ready() const {
    const std::lock_guard lock(state_->mutex);
    return state_->result.has_value();
  }
  T take() {
    const std::lock_guard lock(state_->mutex);
    return std::move(*state_->result);
  }

 private:
  std::shared_ptr<State> state_;
};

/// Where a contract test plays: some clients of one scheme on one store, and time. On virtual time where the store is in
/// memory, on real time where there is a real server. A test body reads the same in both.
class World {
 public:
  virtual ~World() = default;

  /// A new client, as if in a process of its own.
  virtual Actor client(ClientOptions options = {}) = 0;
  /// Lets time pass. On virtual time it costs nothing.
  virtual void sleep(Duration duration) = 0;
  /// Waits until it is so; false after `within` (a hang guard: generous).
  virtual bool eventually(const std::function<bool()>& so, Duration within = 60s) = 0;
  /// A lease that a test can afford to wait for; the clients' default.
  virtual Duration lease() const = 0;
  virtual bool virtual_time() const = 0;
  virtual const store::Capabilities& capabilities() const = 0;

  template <class T>
  Started<T> start(Runtime& runtime, awaitable<T> work) {
    auto state = std::make_shared<typename Started<T>::State>();
    base::spawn(runtime, keep(std::move(work), state));
    return Started<T>(state);
  }
  /// Throws when it hangs.
  template <class T>
  T await(Runtime& runtime, awaitable<T> work) {
    Started<T> started = start(runtime, std::move(work));
    if (!eventually([&] { return started.ready(); })) throw std::runtime_error("it hangs");
    return started.take();
  }

 private:
  template <class T>
  static awaitable<void> keep(awaitable<T> work, std::shared_ptr<typename Started<T>::State> state) {
    T result = co_await std::move(work);
    const std::lock_guard lock(state->mutex);
    state->result.emplace(std::move(result));
  }
};

}  // namespace pawl::testing
