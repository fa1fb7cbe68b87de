#include "lock/multi_core.hpp"

#include "base/simulated_runtime.hpp"
#include "lock/client_core.hpp"
#include "store/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;
using base::SimProcess;
using base::SimWorld;
using store::memory::MemoryState;
using store::memory::MemoryStore;

/// A store that may come back under another id.
class Renamed final : public store::Store {
 public:
  Renamed(std::shared_ptr<MemoryState> state, base::Runtime& runtime, const std::uint64_t& id)
      : inner_(std::move(state), runtime), id_(id) {}

  awaitable<Result<void>> connect(base::Deadline deadline) override { return inner_.connect(deadline); }
  std::uint64_t id() const override { return id_; }
  awaitable<Result<store::SessionGrant>> open_session(store::SessionRequest request, base::Deadline deadline) override {
    return inner_.open_session(std::move(request), deadline);
  }
  awaitable<Result<store::Renewal>> renew(store::SessionId session, base::Deadline deadline) override {
    return inner_.renew(session, deadline);
  }
  awaitable<Result<void>> close_session(store::SessionId session, base::Deadline deadline) override {
    return inner_.close_session(session, deadline);
  }
  store::Scheme* scheme(std::string_view name) override { return inner_.scheme(name); }
  std::vector<const store::Capabilities*> schemes() const override { return inner_.schemes(); }

 private:
  MemoryStore inner_;
  const std::uint64_t& id_;
};

/// Two stores, `first` and `second` by their ids, until one of these changes.
class MultiOrderTest : public testing::Test {
 protected:
  struct Place {
    explicit Place(SimWorld& world, std::uint64_t its_id)
        : id(its_id),
          state(std::make_shared<MemoryState>([&world] { return world.now(); }, [&world] { return world.random(); },
                                              1'700'000'000'000)) {}
    std::uint64_t id;
    std::shared_ptr<MemoryState> state;
  };
  using Taken = std::optional<Result<MultiHold>>;

  std::shared_ptr<LockCore> lock_at(const Place& place) {
    auto store = std::make_shared<Renamed>(place.state, home_, place.id);
    auto client = ClientCore::make(home_, std::move(store), {}).value();
    run(client->connect());
    return ClientCore::mutex(client, "job", {}).value();
  }
  static std::shared_ptr<const MultiPlan> both(std::shared_ptr<LockCore> one, std::shared_ptr<LockCore> other) {
    auto plan = std::make_shared<MultiPlan>();
    plan->parts.push_back({std::move(one)});
    plan->parts.push_back({std::move(other)});
    return plan;
  }
  template <class T>
  void run(awaitable<Result<T>> work) {
    std::optional<Result<T>> result;
    base::spawn(home_, base::store_result(std::move(work), result));
    world_.run_until([&] { return result.has_value(); });
    EXPECT_TRUE(*result);
  }
  Hold hold(const std::shared_ptr<LockCore>& lock) {
    std::optional<Result<Hold>> result;
    base::spawn(home_, base::store_result(lock->acquire({}, std::stop_token()), result));
    world_.run_until([&] { return result.has_value(); });
    return std::move(*result).value();
  }
  Errc try_it(const std::shared_ptr<LockCore>& lock) {
    AcquireOptions at_once;
    at_once.wait = Duration::zero();
    std::optional<Result<Hold>> result;
    base::spawn(home_, base::store_result(lock->acquire(at_once, std::stop_token()), result));
    world_.run_until([&] { return result.has_value(); });
    return result->code();
  }
  void begin(const std::shared_ptr<const MultiPlan>& plan, Taken& taken, std::stop_token stop = {}) {
    base::spawn(home_, base::store_result(MultiPlan::acquire(plan, {}, std::move(stop)), taken));
    world_.run_for(100ms);
  }

  SimWorld world_{1};
  SimProcess& home_ = world_.add_process();
  Place first_{world_, 10}, second_{world_, 20};
};

// Whoever begins now takes the second one first. Who keeps the first one and waits for the second would wait for them for ever.
TEST_F(MultiOrderTest, AWaitInAnOrderThatHasBecomeOldBeginsAgainInTheNewOneWithinASecond) {
  const auto bobs = lock_at(second_), carols = lock_at(first_);
  std::optional<Hold> held = hold(bobs);
  Taken taken;
  begin(both(lock_at(first_), lock_at(second_)), taken);
  EXPECT_EQ(try_it(carols), Errc::busy) << "the first one is held while the second one is waited for";
  second_.id = 5;
  world_.run_for(1s + 100ms);
  EXPECT_FALSE(taken);
  EXPECT_EQ(try_it(carols), Errc{}) << "now the second one is waited for with empty hands";
  held.reset();
  world_.run_until([&] { return taken.has_value(); });
  ASSERT_TRUE(*taken);
  EXPECT_TRUE((*taken)->valid());
  EXPECT_EQ(try_it(carols), Errc::busy);
}

TEST_F(MultiOrderTest, AnOrderThatStaysIsKeptForAsLongAsItTakes) {
  const auto bobs = lock_at(second_), carols = lock_at(first_);
  const Hold held = hold(bobs);
  Taken taken;
  std::stop_source stop;
  begin(both(lock_at(first_), lock_at(second_)), taken, stop.get_token());
  second_.id = 30;  // still the second
  world_.run_for(1min);
  EXPECT_FALSE(taken);
  EXPECT_EQ(try_it(carols), Errc::busy);
  stop.request_stop();
  world_.run_until([&] { return taken.has_value(); });
  EXPECT_EQ(taken->code(), Errc::cancelled) << "the user's word counts as before";
  world_.run_for(1s);
  EXPECT_EQ(try_it(carols), Errc{});
}

}  // namespace
}  // namespace pawl::lock
