#include "lock/multi_core.hpp"

#include "base/duration.hpp"
#include "base/on_stop.hpp"
#include "base/planted.hpp"
#include "base/wakeup.hpp"
#include "lock/hold_core.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

namespace pawl::lock {

using base::Bug;
using base::planted;

namespace {

/// An acquisition under way.
struct Wish {
  std::shared_ptr<const MultiPlan> plan;
  AcquireOptions options;
  std::string label;
  std::stop_token stop;
  std::optional<base::Time> until;  // for all of them together
};

Runtime& runtime_of(const MultiPlan& plan) { return plan.parts.front().lock->client().runtime(); }

auto rank(const MultiPlan::Part& part) {
  const store::LockKey& key = part.lock->named()->key();
  return std::tuple(part.lock->client().store_id(), part.lock->named()->agreed().scheme->capabilities().scheme,
                    key.kind, key.name.bytes());
}

/// In one and the same order for everybody: so nobody waits for somebody who waits for him.
Result<std::vector<std::size_t>> make_order(const MultiPlan& plan) {
  std::vector<std::size_t> order(plan.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t one, std::size_t other) {
    return rank(plan.parts[one]) < rank(plan.parts[other]);
  };
  if (!planted(Bug::multi_in_any_order)) std::sort(order.begin(), order.end(), before);
  const auto twice = std::adjacent_find(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return rank(plan.parts[one]) == rank(plan.parts[other]);
  });
  if (twice == order.end()) return order;
  const std::string name = plan.parts[*twice].lock->named()->key().name.quoted();
  return Error{Errc::invalid_argument, name + " is named twice: it would wait for itself"};
}

/// A store that comes back empty has another id, and so another place in the order: one who waits in the old order and
/// one who began in the new one would wait for each other. This one stops whoever waits in an order that has become old.
class OrderWatch : public std::enable_shared_from_this<OrderWatch> {
 public:
  OrderWatch(std::shared_ptr<const MultiPlan> plan, std::vector<std::size_t> order)
      : plan_(std::move(plan)), order_(std::move(order)), wakeup_(runtime_of(*plan_)) {}

  /// Nothing to do where all locks are of one store.
  static bool needed(const MultiPlan& plan) {
    const auto store = [](const MultiPlan::Part& part) { return part.lock->client().store_id(); };
    return std::any_of(plan.parts.begin(), plan.parts.end(),
                       [&](const MultiPlan::Part& part) { return store(part) != store(plan.parts.front()); });
  }
  /// Passes on what stops the user's wait, too.
  std::stop_token begin(const std::stop_token& users) {
    // Of this object the relay must keep nothing: it is a part of it.
    relay_.emplace(runtime_of(*plan_), users, [stop = stop_]() mutable { stop.request_stop(); });
    base::spawn(runtime_of(*plan_), watch(shared_from_this()));
    return stop_.get_token();
  }
  /// True: it was this one that stopped.
  bool end() {
    relay_.reset();
    over_ = true;
    wakeup_.notify();
    return moved_;
  }

 private:
  static constexpr Duration look_every = std::chrono::seconds(1);

  static awaitable<void> watch(std::shared_ptr<OrderWatch> self) {
    Runtime& runtime = runtime_of(*self->plan_);
    while (!self->over_ && !self->moved_) {
      co_await self->wakeup_.wait(base::after(runtime.now(), look_every));
      const Result<std::vector<std::size_t>> now = make_order(*self->plan_);
      self->moved_ = !self->over_ && (!now || *now != self->order_);
    }
    if (self->moved_) self->stop_.request_stop();
  }

  const std::shared_ptr<const MultiPlan> plan_;
  const std::vector<std::size_t> order_;
  base::Wakeup wakeup_;
  std::stop_source stop_;
  std::optional<base::OnStop> relay_;
  bool over_ = false;
  bool moved_ = false;
};

/// For what comes before the first lock.
Deadline until(const Wish& wish) { return wish.until ? Deadline{*wish.until} : Deadline::never(); }

AcquireOptions options_of(const Wish& wish) {
  AcquireOptions options = wish.options;
  options.label = wish.label;
  if (!wish.until) return options;
  const Duration left = *wish.until - runtime_of(*wish.plan).now();
  options.wait = std::max<Duration>(left, Duration(1));  // 0 would be a try
  return options;
}

/// The wait that was asked for, not what was left of it for the last lock.
Error told(Error error, const Wish& wish) {
  if (error.code != Errc::timed_out) return error;
  error.message += " (" + base::format_duration(*wish.options.wait) + " for all of them)";
  return error;
}

std::vector<std::shared_ptr<HoldCore>> cores_of(const std::vector<Hold>& holds) {
  std::vector<std::shared_ptr<HoldCore>> cores;
  for (const Hold& hold : holds) {
    if (HoldCore::behind(hold)) cores.push_back(HoldCore::behind(hold));
  }
  return cores;
}

/// Bug::multi_keeps_half only.
void never_let_go(std::vector<Hold> holds) {
  static auto* const kept = new std::vector<std::vector<Hold>>;
  kept->push_back(std::move(holds));
}

/// Releases under way, and the first that could not be begun.
struct Begun {
  Result<void> first = {};
  std::vector<std::pair<std::shared_ptr<HoldCore>, std::shared_ptr<claim::Settlement>>> sent = {};
};

/// The last one first. Does not wait.
Begun begin_release(const std::vector<std::shared_ptr<HoldCore>>& holds) {
  Begun begun;
  for (const std::shared_ptr<HoldCore>& hold : std::views::reverse(holds)) {
    Result<std::shared_ptr<claim::Settlement>> sent = hold->begin_release();
    if (sent) begun.sent.emplace_back(hold, *sent);
    if (!sent && begun.first) begun.first = sent.error();
  }
  return begun;
}

bool all_valid(const std::vector<Hold>& holds) {
  if (planted(Bug::multi_half_lost)) return true;
  return std::all_of(holds.begin(), holds.end(), [](const Hold& hold) { return hold.valid(); });
}

/// One round. Nothing: all of them are in `holds`.
awaitable<Result<void>> take_all(std::shared_ptr<const Wish> wish, const std::vector<std::size_t>& order,
                                 std::stop_token stop, std::vector<Hold>& holds) {
  for (const std::size_t index : order) {
    const MultiPlan::Part& part = wish->plan->parts[index];
    Result<Hold> hold = co_await part.lock->acquire(options_of(*wish), stop, part.wanted);
    if (!hold) co_return hold.error();
    holds[index] = std::move(*hold);
  }
  co_return Result<void>();
}

awaitable<Result<void>> connect_all(std::shared_ptr<const Wish> wish) {
  for (const MultiPlan::Part& part : wish->plan->parts) {
    Result<void> usable = part.lock->client().usable();
    if (!usable) co_return usable;
    if (part.lock->client().store_id() != 0) continue;
    Result<void> connected = co_await part.lock->client().connect(until(*wish));  // only then its store's id is known
    // Nothing has been asked for yet.
    if (connected.code() == Errc::outcome_unknown) co_return Error{Errc::store_unavailable, connected.error().message};
    if (!connected) co_return connected;
  }
  co_return Result<void>();
}

awaitable<Result<MultiHold>> acquire_all(std::shared_ptr<const Wish> wish) {
  if (auto sound = wish->plan->check(); !sound) co_return sound.error();
  Result<void> connected = co_await connect_all(wish);
  if (!connected) co_return connected.error();
  for (;;) {
    const Result<std::vector<std::size_t>> order = make_order(*wish->plan);
    if (!order) co_return order.error();
    const bool several_stores = OrderWatch::needed(*wish->plan) && !planted(Bug::multi_keeps_order);
    const auto watch = several_stores ? std::make_shared<OrderWatch>(wish->plan, *order) : nullptr;
    const std::stop_token stop = watch ? watch->begin(wish->stop) : wish->stop;
    std::vector<Hold> holds(wish->plan->parts.size());
    Result<void> taken = co_await take_all(wish, *order, stop, holds);
    const bool moved = watch && watch->end();
    if (planted(Bug::multi_in_part)) holds.pop_back();
    if (taken && all_valid(holds)) co_return Access::make<MultiHold>(std::make_shared<MultiHoldCore>(std::move(holds)));
    if (planted(Bug::multi_keeps_half)) never_let_go(std::exchange(holds, {}));
    std::vector<std::shared_ptr<HoldCore>> had = cores_of(holds);
    const bool again = moved && taken.code() == Errc::cancelled && !wish->stop.stop_requested();
    if (!taken && !again) {
      begin_release(had);  // the rest goes on in the background, as with one lock
      co_return told(taken.error(), *wish);
    }
    [[maybe_unused]] Result<void> released = co_await release_all(std::move(had));
    // One was lost while we waited for the others, or the order is another one now: once more.
    const bool over =
        wish->options.wait == Duration::zero() || (wish->until && runtime_of(*wish->plan).now() >= *wish->until);
    if (over)
      co_return Error{Errc::timed_out,
                      "one of the locks was lost, or its store came back empty, while the others were waited for"};
  }
}

}  // namespace

Result<void> MultiPlan::check() const {
  if (parts.empty()) return Error{Errc::invalid_argument, "a MultiLock needs a lock"};
  const bool together = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return &part.lock->client().runtime() == &runtime_of(*this);
  });
  if (together) return {};
  return Error{Errc::invalid_argument, "the locks of a TestStore and others cannot be taken together"};
}

awaitable<Result<MultiHold>> MultiPlan::acquire(std::shared_ptr<const MultiPlan> plan, AcquireOptions options,
                                                std::stop_token stop) {
  // Not a coroutine itself: the text in the options may be gone before a coroutine would begin.
  auto wish = std::make_shared<Wish>(Wish{std::move(plan), options, std::string(options.label), std::move(stop), {}});
  const bool waits = options.wait && *options.wait > Duration::zero() && !wish->plan->parts.empty();
  if (waits) wish->until = base::after(runtime_of(*wish->plan).now(), *options.wait);
  return acquire_all(std::move(wish));
}

MultiHoldCore::MultiHoldCore(std::vector<Hold> holds)
    : holds_(std::move(holds)), signals_(std::make_shared<Signals>()) {
  for (const Hold& hold : holds_) {
    if (planted(Bug::multi_loss_untold) && &hold != &holds_.front()) break;
    signals_->relays.emplace_back(hold.lost(), Relay{signals_->lost});
    signals_->relays.emplace_back(hold.release_requested(), Relay{signals_->release_requested});
  }
}

// On the notifier thread, where the relays run: whoever lets go need not wait for one that is running, nor may he take
// it away from under itself.
MultiHoldCore::~MultiHoldCore() {
  const std::shared_ptr<HoldCore>& any = HoldCore::behind(holds_.front());
  const bool after_fork = any->inert() && any->runtime().may_block();  // a simulated crash has no other threads
  base::or_out_of_memory([&] {
    if (after_fork) {
      new std::shared_ptr<Signals>(std::move(signals_));
    } else if (!any->inert()) {
      any->runtime().notify([last = std::move(signals_)] {});
    }
  });
}

awaitable<Result<void>> MultiHoldCore::release(std::shared_ptr<MultiHoldCore> self) {
  co_return co_await release_all(cores_of(self->holds_));
}

awaitable<Result<void>> release_all(std::vector<std::shared_ptr<HoldCore>> holds) {
  // All are let go first: one whose store is silent must not keep the others shut.
  Begun begun = begin_release(holds);
  for (const auto& [hold, settlement] : begun.sent) {
    Result<void> released = co_await hold->settled(settlement);
    if (!released && begun.first) begun.first = std::move(released);
  }
  co_return begun.first;
}

}  // namespace pawl::lock
