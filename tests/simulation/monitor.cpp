#include "tests/simulation/monitor.hpp"

#include "lock/hold_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

void Monitor::asks(const base::SimProcess& process, const PlayedLock& lock, const std::string& who,
                   std::uint64_t losses) {
  // Strict ones queue at the store, each for itself, and requests may overtake each other on their way there.
  if (lock.kind == Kind::mutex && !lock.strict && !lock.spin) asking_.push_back({&process, &lock, who, losses});
}

void Monitor::answered(const base::SimProcess& process, const PlayedLock& lock, const std::string& who, bool granted,
                       std::uint64_t losses) {
  const auto beside = [&](const Asking& one) { return one.process == &process && one.lock == &lock; };
  const auto own =
      std::find_if(asking_.begin(), asking_.end(), [&](const Asking& one) { return beside(one) && one.who == who; });
  if (own == asking_.end()) return;
  const auto earlier =
      std::find_if(asking_.begin(), own, [&](const Asking& one) { return beside(one) && one.losses == losses; });
  if (granted && earlier != own) {
    violated(fmt::format("{} is granted {} before {}, who asked earlier", who, lock.title(), earlier->who));
  }
  asking_.erase(own);
}

void Monitor::granted(const base::SimProcess& process, const Wish& wish, const Hold& hold) {
  granted(process, wish, 0, hold);
}

void Monitor::granted(const base::SimProcess& process, const Wish& wish, const MultiHold& holds) {
  ++deeds_.together;
  if (holds.size() != wish.parts.size()) return violated(wish.title() + " was granted in part");
  for (std::size_t part = 0; part < holds.size(); ++part) granted(process, wish, part, holds[part]);
  if (!holds.valid()) violated(wish.title() + " was granted when one of them was lost already");
  together_.emplace_back(&process, &holds);
}

void Monitor::granted(const base::SimProcess& process, const Wish& wish, std::size_t part, const Hold& hold) {
  const PlayedLock& lock = *wish.parts[part].lock;
  const lock::Wanted& wanted = wish.parts[part].wanted;
  ++deeds_.grants;
  if (hold.mode() == Mode::shared) ++deeds_.shared;
  if (lock.kind == Kind::permits) ++deeds_.permits;
  if (lock.kind == Kind::election) ++deeds_.elected;
  Held held{.process = &process,
            .hold = &hold,
            .lock = &lock,
            .token = hold.token(),
            .slots = lock::HoldCore::behind(hold)->hold().slots(),
            .value = wanted.value,
            .lock_delay = wish.options.lock_delay.value_or(0s),
            .number = deeds_.grants,
            .doubtful = excused(process)};
  note(fmt::format("{} granted {} with token {}{}{}", lock.title(), to_string(hold.mode()), held.token.to_string(),
                   held.slots.empty() ? "" : ", permits ", fmt::join(held.slots, ",")));
  see(held);
  complain(ledger(lock).granted(held, wanted, world_.now() + store_->tick()));
  if (lock.kind == Kind::election) reigns_[lock.name].seen(held.token.with_sub(0), held.value, world_.now());
  held_.push_back(std::move(held));
}

void Monitor::writes(const Hold& hold) {
  Held& held = find(hold);
  see(held);
  complain(ledger(*held.lock).write(held, trusted(held), world_.now()));
}

void Monitor::downgrades(const Hold& hold) {
  find(hold).downgrades = true;
  if (hold.mode() == Mode::exclusive) ++deeds_.downgrades;
}

void Monitor::downgraded(const Hold& hold, const Result<void>& answer) {
  Held& held = find(hold);
  note(fmt::format("{} downgraded: {}", held.lock->title(), answer ? "done" : answer.error().to_string()));
  held.downgrades = false;  // let it say itself what it is
  if (hold.token() != held.token) violated("a downgrade has changed the token of " + held.lock->title());
  if (answer.code() == Errc::lost && hold.valid() && trusted(held)) violated(held.lock->title() + " is not lost");
  if (answer && hold.mode() != Mode::shared) violated(held.lock->title() + " is exclusive after its downgrade");
}

void Monitor::ended(const Hold& hold) {
  see(find(hold));
  std::erase_if(held_, [&](const Held& held) { return held.hold == &hold; });
}

void Monitor::ended(const MultiHold& holds) {
  for (std::size_t part = 0; part < holds.size(); ++part) ended(holds[part]);
  std::erase_if(together_, [&](const auto& entry) { return entry.second == &holds; });
}

void Monitor::gave_up(const Wish& wish, const std::string& label) {
  for (const LockView& view : store_->locks()) {
    const bool ours = std::any_of(wish.parts.begin(), wish.parts.end(), [&](const Wish::Part& part) {
      const bool passed_on = !part.lock->strict && (view.kind == Kind::mutex || view.kind == Kind::rw);
      return part.lock->kind == view.kind && part.lock->name == view.name && !passed_on;
    });
    const auto labelled = [&](const ClaimView& claim) { return claim.owner.label == label; };
    const bool left = std::any_of(view.holders.begin(), view.holders.end(), labelled) ||
                      std::any_of(view.waiters.begin(), view.waiters.end(), labelled);
    if (ours && left)
      violated(fmt::format("{} has got nothing, and keeps {} {}", label, to_string(view.kind), view.name));
  }
}

void Monitor::told(const PlayedLock& lock, Testimony& testimony, const std::optional<Leader>& change) {
  ++deeds_.told;
  complain(testimony.told(change, reigns_[lock.name], world_.now()));
}

void Monitor::observed(const PlayedLock& lock, const Testimony& testimony) {
  complain(testimony.closed(reigns_[lock.name], world_.now()));
}

void Monitor::excuse(const base::SimProcess& process, base::Time until) { excused_[&process] = until; }

void Monitor::forget_lock_delays() {
  for (auto& [lock, ledger] : ledgers_) ledger.forget_lock_delays();
}

bool Monitor::excused(const base::SimProcess& process) const {
  const auto found = excused_.find(&process);
  return found != excused_.end() && world_.now() <= found->second;
}

void Monitor::crashed(const base::SimProcess& process) {
  std::erase_if(held_, [&](Held& held) {
    if (held.process != &process) return false;
    see(held);
    if (!held.failed && trusted(held)) ledger(*held.lock).failed(held);
    return true;
  });
  std::erase_if(together_, [&](const auto& entry) { return entry.first == &process; });
}

Held& Monitor::find(const Hold& hold) {
  return *std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.hold == &hold; });
}

Ledger& Monitor::ledger(const PlayedLock& lock) {
  return ledgers_.try_emplace(&lock, lock, store_->may_lose_all()).first->second;
}

void Monitor::complain(Ledger::Complaint complaint) {
  if (complaint) violated(std::move(*complaint));
}

void Monitor::see(Held& held) {
  const Duration remaining = held.hold->remaining();
  if (remaining > 0s) {
    held.until = held.process->in_world_time(held.process->now() + remaining);
  } else if (!held.failed) {
    held.failed = true;
    held.until = std::min(held.until, world_.now());
    if (trusted(held)) ledger(*held.lock).failed(held);
  }
}

void Monitor::look() {
  if (violation_) return;
  for (Held& held : held_) see(held);
  check_exclusion();
  check_loss_is_told();
  check_together();
  if (store_->requests() == requests_seen_) return;  // nothing was asked, nothing has moved
  check_store();
  requests_seen_ = store_->requests();  // our own visit is none of theirs
}

void Monitor::check_exclusion() {
  const base::Time now = world_.now();
  for (auto one = held_.begin(); one != held_.end(); ++one) {
    if (!one->valid(now) || !trusted(*one)) continue;
    const auto other = std::find_if(one + 1, held_.end(), [&](const Held& held) {
      return held.lock == one->lock && held.valid(now) && trusted(held) &&
             exclude(held.lock->kind, {one->mode(), one->slots}, {held.mode(), held.slots});
    });
    if (other == held_.end()) continue;
    violated(fmt::format("two holders of {}: {} {} for {} ms more, {} {} for {} ms more", one->lock->title(),
                         to_string(one->mode()), one->token.to_string(), (one->until - now) / 1ms,
                         to_string(other->mode()), other->token.to_string(), (other->until - now) / 1ms));
  }
}

void Monitor::check_loss_is_told() {
  for (Held& held : held_) {
    if (held.valid(world_.now()) || held.process->paused()) {
      held.untold_since.reset();
      continue;
    }
    if (held.hold->lost().stop_requested()) continue;
    if (!held.untold_since) held.untold_since = world_.now();
    if (world_.now() - *held.untold_since <= 100ms) continue;
    violated(fmt::format("nobody told the holder of {} that it is lost", held.lock->title()));
  }
}

void Monitor::check_together() {
  for (const auto& [process, holds] : together_) {
    for (std::size_t part = 0; part < holds->size(); ++part) {
      const Hold& hold = (*holds)[part];
      if (holds->valid() && !hold.valid()) violated("locks are held together, and one of them is not");
      if (hold.lost().stop_requested() && !holds->lost().stop_requested()) {
        violated("one of the locks held together is lost, and they are not");
      }
    }
  }
}

void Monitor::check_store() {
  if (auto complaint = store_->complaint()) violated(std::move(*complaint));
  const std::vector<LockView> views = store_->locks();
  for (const LockView& view : views) {
    if (store_->capabilities().fair) check_order(view);
    see_leaders(view);
  }
  for (const Held& held : held_) {
    if (held.valid(world_.now()) && trusted(held)) check_known(held, views);
  }
}

void Monitor::check_order(const LockView& view) {
  std::vector<const ClaimView*> line;
  for (const ClaimView& holder : view.holders) line.push_back(&holder);
  for (const ClaimView& waiter : view.waiters) line.push_back(&waiter);
  for (const ClaimView* claim : line) arrivals_.emplace(claim->claim, arrivals_.size());
  const auto earlier = [&](const ClaimView* a, const ClaimView* b) {
    return arrivals_[a->claim] < arrivals_[b->claim];
  };
  // Among holders it does not matter.
  std::sort(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(view.holders.size()), earlier);
  const bool ordered = std::is_sorted(line.begin(), line.end(), earlier);
  if (!ordered) {
    violated(fmt::format("{} {} is not served in the order of arrival", to_string(view.kind), view.name));
  }
}

void Monitor::see_leaders(const LockView& view) {
  if (view.kind != Kind::election) return;
  for (const ClaimView& leader : view.holders) reigns_[view.name].seen(leader.token, leader.value, world_.now());
}

void Monitor::check_known(const Held& held, const std::vector<LockView>& views) {
  const ClaimView* known = nullptr;
  for (const LockView& view : views) {
    if (view.kind != held.lock->kind || view.name != held.lock->name) continue;
    for (const ClaimView& holder : view.holders) {
      if (holder.token == held.token.with_sub(0)) known = &holder;
    }
  }
  if (known == nullptr) return violated(fmt::format("the store does not know a holder of {}", held.lock->title()));
  if (known->mode == Mode::shared && held.mode() == Mode::exclusive) {
    violated(fmt::format("{} is shared for the store, and exclusive for its holder", held.lock->title()));
  }
  if (known->value != held.value) {
    violated(fmt::format("{} stands for \"{}\", not \"{}\"", held.lock->title(), known->value, held.value));
  }
}

void Monitor::note(std::string line) {
  story_.push_back(
      fmt::format("{:9.3f}s  {}", static_cast<double>(world_.now().time_since_epoch() / 1us) / 1e6 - 3600, line));
  if (story_.size() > 400) story_.pop_front();
}

void Monitor::violated(std::string what) {
  note("VIOLATED: " + what);
  if (!violation_) violation_ = std::move(what);
}

}  // namespace pawl::test
