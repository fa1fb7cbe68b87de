#include "tests/simulation/operator.hpp"

#include "base/wakeup.hpp"

#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

Operator::Operator(Stage& stage) : stage_(stage), process_(stage.world.add_process()) {
  for (const auto& store : stage.stores) {
    const auto no_faults = std::make_shared<ScriptedFaults>();
    ClientOptions options;
    options.scheme = store->capabilities().scheme;
    clients_.push_back(lock::ClientCore::make(process_, store->connect(process_, no_faults), options).value());
  }
}

awaitable<void> Operator::work() {
  for (int i = 0; i < stage_.script.commands; ++i) {
    Dice dice = stage_.dice(fmt::format("command {}", i));
    const Duration longest = stage_.script.quiet ? 200ms : 4s;
    co_await base::sleep_for(process_, dice.up_to(longest));
    const PlayedLock& lock = stage_.script.locks[dice.roll(stage_.script.locks.size() - 1)];
    const std::uint64_t what = dice.roll(9);
    if (stage_.leaves_out(fmt::format("command {}", i))) continue;
    if (what < 2) {
      co_await raise_epoch(lock.store);
    } else {
      co_await recall(lock, what >= 7, dice);
    }
  }
}

awaitable<void> Operator::recall(const PlayedLock& lock, bool take_away, Dice& dice) {
  const auto client = clients_[lock.store];
  Result<LockView> view = co_await client->inspect(lock.name, lock.kind);
  if (!view || view->holders.empty()) co_return;
  const ClaimView holder = view->holders[dice.roll(view->holders.size() - 1)];
  Result<void> done = co_await client->revoke(lock.name, holder.claim, take_away, lock.kind);
  if (!done) co_return;  // it was let go in the meantime
  stage_.monitor.note("an operator {} {} with token {}", take_away ? "takes away" : "asks for", lock.title(),
                      holder.token.to_string());
  stage_.monitor.recalled(lock, holder.token, take_away);
}

awaitable<void> Operator::raise_epoch(std::size_t store) {
  Result<std::uint64_t> epoch = co_await clients_[store]->raise_epoch();
  if (!epoch) co_return;
  stage_.monitor.note("an operator begins epoch {} of store {}", *epoch, store);
  stage_.monitor.raised(store, *epoch);
}

}  // namespace pawl::test
