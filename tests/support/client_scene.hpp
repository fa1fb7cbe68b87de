#pragma once

#include "base/simulated_runtime.hpp"
#include "session/keeper.hpp"
#include "store/memory/memory_store.hpp"
#include "tests/support/faulty_store.hpp"

#include <pawl/observer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Scenes for the inside of a client, on virtual time: a store in memory, a network that fails on command, and what all
/// layers above the port share.
namespace pawl::test {

using namespace std::chrono_literals;
using base::awaitable;
using base::Deadline;
using base::SimProcess;
using base::SimWorld;
using base::Time;
using session::Context;
using session::Keeper;
using store::LockKey;

inline LockKey lock_key(std::string_view name) { return {Kind::mutex, store::LockName::make(name).value()}; }

/// One client below its face, in a process of its own.
struct Party {
  SimProcess& process;
  const std::shared_ptr<ScriptedFaults> faults = std::make_shared<ScriptedFaults>();
  const std::shared_ptr<std::vector<Event>> events = std::make_shared<std::vector<Event>>();
  std::shared_ptr<FaultyStore> store = {};
  std::shared_ptr<Context> context = {};
  std::shared_ptr<Keeper> keeper = {};

  store::Scheme& scheme() const { return *context->store->scheme(""); }
  std::size_t sent(Operation operation) const { return faults->count(operation); }
  std::uint64_t count(EventType type) const {
    return static_cast<std::uint64_t>(
        std::count_if(events->begin(), events->end(), [&](const Event& event) { return event.type == type; }));
  }
};

class ClientScene : public testing::Test {
 protected:
  static constexpr Duration timeout = 5s;

  Party party(std::string host = "here") {
    Party one{world_.add_process()};
    auto memory = std::make_shared<store::memory::MemoryStore>(state_, one.process);
    one.store = std::make_shared<FaultyStore>(std::move(memory), one.process, one.faults, network_);
    const auto observer = [events = one.events](const Event& event) { events->push_back(event); };
    one.context = std::make_shared<Context>(one.process, one.store, observer, Owner{.host = std::move(host)}, timeout);
    one.keeper = std::make_shared<Keeper>(one.context);
    return one;
  }

  /// Something that was started and goes on by itself.
  template <class T>
  using Started = std::shared_ptr<std::optional<T>>;

  template <class T>
  Started<T> start(const Party& party, awaitable<T> work) {
    auto result = std::make_shared<std::optional<T>>();
    base::spawn(party.process, keep<T>(std::move(work), result));
    pass(0s);
    return result;
  }
  template <class T>
  T await(const Started<T>& started) {
    if (!world_.run_until([&] { return started->has_value(); }, world_.now() + 1h))
      throw std::runtime_error("it hangs");
    return std::move(**started);
  }
  template <class T>
  T run(const Party& party, awaitable<T> work) {
    return await<T>(start<T>(party, std::move(work)));
  }

  void pass(Duration time) { world_.run_for(time); }
  bool until(const std::function<bool()>& so, Duration within = 1h) {
    return world_.run_until(so, world_.now() + within);
  }
  Time now() const { return world_.now(); }
  Deadline soon() const { return Deadline::in(now(), timeout); }
  store::memory::Census census() { return state_->census(); }

  SimWorld world_{1};
  SimProcess& network_ = world_.add_process();
  const std::shared_ptr<store::memory::MemoryState> state_ = std::make_shared<store::memory::MemoryState>(
      [this] { return world_.now(); }, [this] { return world_.random(); }, 1);

 private:
  template <class T>
  static awaitable<void> keep(awaitable<T> work, Started<T> result) {
    T value = co_await std::move(work);
    result->emplace(std::move(value));
  }
};

}  // namespace pawl::test
