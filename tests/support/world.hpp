#pragma once

#include "tests/support/scene.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::scene {

/// Where a contract test plays: some clients of one scheme on one store, and time. On virtual time where the store is in
/// memory, on real time where there is a real server. A test body reads the same in both.
/// Threads: one test's.
class World {
 public:
  virtual ~World() = default;

  /// A new client, as if in a process of its own, over a fault layer of its own. What the options leave open: this
  /// world's scheme, a lease that no test outlives, and a timeout that a machine which stands still for a while does not.
  Actor client(ClientOptions options = {});
  /// A client with the timeout that a test can afford to wait for, where requests are to fail.
  Actor impatient_client(ClientOptions options = {});
  /// A client with the lease that a test can afford to wait for, and not much more patience than that.
  Actor brief_client(ClientOptions options = {});

  virtual Time now() const = 0;
  /// Lets time pass. On virtual time it costs nothing. To see that something does *not* happen, or for how long; what
  /// must happen is waited for with eventually().
  virtual void sleep(Duration duration) = 0;
  /// Waits until it is so; false after `within` (a hang guard: generous). `so` must only look.
  virtual bool eventually(const std::function<bool()>& so, Duration within) = 0;
  bool eventually(const std::function<bool()>& so) { return eventually(so, hang()); }
  /// The same for a question that asks the store: that is work by itself, so time goes on between two questions.
  bool ask_until(const std::function<bool()>& so);
  /// Claims wait and let go by the blocking form of the face, on threads of their own.
  virtual bool blocking() const { return false; }
  /// Runs it on a thread of its own, which the world waits for at its end.
  virtual void run_on_a_thread(std::function<void()> work) { work(); }
  /// Kills the store's server and starts it again. Throws where nobody knows how.
  virtual void restart() { throw std::logic_error("this world has no server to restart"); }
  /// Exact bounds on time make sense only here.
  virtual bool virtual_time() const = 0;

  /// A lease that a test can afford to wait for.
  virtual Duration lease() const = 0;
  /// How long impatient clients wait for one answer of the store.
  virtual Duration timeout() const = 0;
  /// After this long something hangs.
  virtual Duration hang() const = 0;
  const store::Capabilities& capabilities();
  const std::string& scheme() const { return scheme_; }

  /// The network between the actor and the store is gone; and is there again.
  void cut(const Actor& actor) { actor.faults().cut(); }
  void heal(const Actor& actor) { actor.faults().heal(); }
  /// Ends the actor's sessions at the store, behind its back.
  void expire(const Actor& actor);

  /// What the store says, asked by a bystander past all faults.
  LockView view(std::string_view name, Kind kind = Kind::mutex);
  std::vector<LockView> views(std::string_view prefix = {});
  /// Waits until that many claims wait at the store.
  bool queued(std::string_view name, std::size_t waiters, Kind kind = Kind::mutex);

  /// What the store's server has that it did not have at the beginning, but for what it declares (tests/support/census);
  /// one line for each record. Empty: nothing, or nobody can tell.
  virtual std::string leftovers() { return {}; }
  /// The end of the play: all faults off, all clients closed. What is still at the store then; empty: nothing.
  std::string left_behind();

 protected:
  explicit World(std::string scheme) : scheme_(std::move(scheme)) {}
  virtual Runtime& new_home() = 0;
  virtual Runtime& network_of(Runtime& home) { return home; }
  virtual std::shared_ptr<store::Store> open_store(Runtime& home) = 0;
  /// Before the runtimes end.
  void forget_clients();

 private:
  const Actor& bystander();
  void close_all();
  void pass_by();

  const std::string scheme_;
  std::vector<Actor> clients_;
  std::unique_ptr<Actor> bystander_;
};

template <class T>
T Started<T>::get() {
  if (!world_->eventually([this] { return ready(); })) throw std::runtime_error("it hangs");
  const std::lock_guard lock(state_->mutex);
  return std::move(*state_->result);
}

template <class T>
Started<T> start(const Actor& actor, awaitable<T> work) {
  auto state = std::make_shared<typename Started<T>::State>();
  base::spawn(actor.runtime(), Started<T>::keep(std::move(work), state));
  return Started<T>(actor.world(), std::move(state));
}

/// On a thread of its own, for what blocks; with real threads only.
template <class T>
Started<T> start_blocking(const Actor& actor, std::function<T()> work) {
  auto state = std::make_shared<typename Started<T>::State>();
  actor.world().run_on_a_thread([work = std::move(work), state] { Started<T>::keep_blocking(work, state); });
  return Started<T>(actor.world(), std::move(state));
}

/// Throws when it hangs.
template <class T>
T await(const Actor& actor, awaitable<T> work) {
  return start(actor, std::move(work)).get();
}

}  // namespace pawl::scene
