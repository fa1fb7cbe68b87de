#pragma once

#include "base/simulated_runtime.hpp"
#include "store/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Scenes on the port itself: actors with a session each, in virtual time.
namespace pawl::test {

using namespace std::chrono_literals;
using base::awaitable;
using base::Deadline;
using base::SimProcess;
using base::SimWorld;
using store::Claim;
using store::ClaimState;
using store::Granted;
using store::LockKey;
using store::Notice;
using store::Standing;
using store::Waiting;
using store::Withdrawal;
using store::Withdrawn;
using store::memory::Census;
using store::memory::MemoryState;
using store::memory::MemoryStore;

inline LockKey key(std::string_view name, Kind kind = Kind::mutex) {
  return {kind, store::LockName::make(name).value()};
}

inline std::optional<Granted> granted(const Result<ClaimState>& state) {
  if (!state || !std::holds_alternative<Granted>(*state)) return std::nullopt;
  return std::get<Granted>(*state);
}

inline std::optional<Waiting> waiting(const Result<ClaimState>& state) {
  if (!state || !std::holds_alternative<Waiting>(*state)) return std::nullopt;
  return std::get<Waiting>(*state);
}

/// A process with one session at a store, and everything it was told. Every call gives the store 5 s.
class Actor {
 public:
  Actor(SimWorld& world, SimProcess& home, std::shared_ptr<store::Store> connection, std::string label, Duration lease)
      : store(std::move(connection)), process(home), world_(world), lease_(lease) {
    store::SessionRequest request{.lease = lease, .owner = {.host = "here", .pid = 7, .label = std::move(label)}};
    session = run(store->open_session(request, soon())).value().id;
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  Deadline soon() const { return Deadline::in(world_.now(), 5s); }

  template <class T>
  Result<T> run(awaitable<Result<T>> work) {
    std::optional<Result<T>> result;
    base::spawn(process, base::store_result(std::move(work), result));
    world_.run_until([&] { return result.has_value(); });
    return std::move(*result);
  }

  /// A new claim, watched.
  Claim wish(std::string_view name, Kind kind = Kind::mutex) {
    Claim claim{.id = process.make_id<store::ClaimId>(), .session = session, .key = key(name, kind), .lease = lease_};
    scheme().watch(claim.id, [this](const Notice& notice) { told.push_back(notice); });
    return claim;
  }
  Claim write_wish(std::string_view name) { return wish(name, Kind::rw); }
  Claim read_wish(std::string_view name) {
    Claim claim = wish(name, Kind::rw);
    claim.mode = Mode::shared;
    return claim;
  }
  Claim permits_wish(std::string_view name, std::uint32_t wanted, std::uint32_t of) {
    Claim claim = wish(name, Kind::permits);
    claim.permits = {wanted, of};
    return claim;
  }

  Result<ClaimState> claim(const Claim& claim) { return run(scheme().claim(claim, soon())); }
  Withdrawn withdraw(const Claim& claim, Withdrawal how = {}) {
    return run(scheme().withdraw(claim, how, soon())).value();
  }
  Standing look(const Claim& claim) { return run(scheme().look(claim, soon())).value(); }
  Result<void> downgrade(const Claim& claim) { return run(scheme().downgrade(claim, soon())); }
  bool holds(const Claim& claim) { return look(claim).place == Standing::Place::held; }
  LockView inspect(std::string_view name, Kind kind = Kind::mutex) {
    return run(scheme().inspect(key(name, kind), soon())).value();
  }
  std::vector<LockView> list(std::string_view prefix) {
    return run(scheme().list(std::string(prefix), soon())).value();
  }
  bool check(std::string_view name, Token token, Kind kind = Kind::mutex) {
    return run(scheme().check(key(name, kind), token, soon())).value();
  }
  bool revoke(const Claim& claim, bool now) { return run(scheme().revoke(claim.key, claim.id, now, soon())).value(); }
  Result<store::Renewal> renew() { return run(store->renew(session, soon())); }
  std::uint64_t changes() { return renew().value().changes; }
  std::vector<store::ClaimId> changed() { return renew().value().changed.value(); }
  void close() { EXPECT_TRUE(run(store->close_session(session, soon()))); }

  store::Scheme& scheme() { return *store->scheme("queue"); }

  const std::shared_ptr<store::Store> store;
  SimProcess& process;
  store::SessionId session;
  std::vector<Notice> told;

 private:
  SimWorld& world_;
  const Duration lease_;
};

/// A memory store on virtual time, and its actors.
class StoreScene : public testing::Test {
 protected:
  Actor actor(std::string label, Duration lease = 30s) {
    SimProcess& process = world_.add_process();
    return Actor(world_, process, std::make_shared<MemoryStore>(state_, process), std::move(label), lease);
  }
  void pass(Duration time) { world_.run_for(time); }
  Census census() { return state_->census(); }

  SimWorld world_{1};
  std::shared_ptr<MemoryState> state_ = std::make_shared<MemoryState>(
      [this] { return world_.now(); }, [this] { return world_.random(); }, 1'700'000'000'000);
};

}  // namespace pawl::test
