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
  // Unless the other one was refused at this very moment, and has a longer way to its answer.
  if (granted && earlier != own) overtaken_ = {earlier->who, who, lock.title(), world_.now()};
  if (!granted && overtaken_ && overtaken_->who == who && overtaken_->at == world_.now()) overtaken_.reset();
  asking_.erase(own);
}

void Monitor::granted(const base::SimProcess& process, const Wish& wish, const Hold& hold) {
  granted(process, wish, 0, hold);
}

void Monitor::granted(const base::SimProcess& process, const Wish& wish, const MultiHold& holds) {
  ++deeds_.together;
  if (holds.size() != wish.parts.size()) {
    return violated(Oracle::granted_in_part, wish.title() + " was granted in part");
  }
  for (std::size_t part = 0; part < holds.size(); ++part) granted(process, wish, part, holds[part]);
  if (!holds.valid()) {
    violated(Oracle::granted_half_lost, wish.title() + " was granted when one of them was lost already");
  }
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
            .lease = *wish.options.lease,
            .since = world_.now(),
            .doubtful = excused(process, lock.store)};
  note("{} granted {} with token {}{}{}", lock.title(), to_string(hold.mode()), held.token.to_string(),
       held.slots.empty() ? "" : ", permits ", fmt::join(held.slots, ","));
  held.doubtful = held.doubtful || recalls_.taken_away(held);  // the answer was under way
  if (closed_.contains({&process, lock.link})) {
    violated(Oracle::granted_after_close, lock.title() + " was granted to a client that is closed");
  }
  see(held);
  complain(ledger(lock).granted(held, wanted, world_.now() + stores_[lock.store]->tick()));
  complain(passing_.granted(held, resumed_at(process), wish.parts.size() == 1, world_.now()));
  if (lock.kind == Kind::election) {
    reigns_[{lock.store, lock.name}].seen(held.claim(), held.value, world_.now());
  }
  held_.push_back(std::move(held));
}

void Monitor::writes(const Hold& hold) {
  Held& held = find(hold);
  see(held);
  complain(ledger(*held.lock).write(held, trusted(held), world_.now()));
}

void Monitor::writes_after_downgrade(const Hold& hold, const Sequencer& before) {
  const Held& held = find(hold);
  if (held.written && hold.mode() == Mode::shared) complain(ledger(*held.lock).write_after_downgrade(before));
}

bool Monitor::stands(const Hold& hold) {
  Held& held = find(hold);
  see(held);
  return held.valid(world_.now()) && trusted(held) && !held.doubtful;
}

void Monitor::contended(const base::SimProcess& process, std::size_t store, Token claim) {
  for (const Held& held : held_) {
    const bool same = held.process == &process && held.lock->store == store && held.claim() == claim.with_sub(0);
    if (same) passing_.contended(held, world_.now());
  }
}

base::Time Monitor::resumed_at(const base::SimProcess& process) const {
  const auto found = resumed_.find(&process);
  return found == resumed_.end() ? base::Time{} : found->second;
}

void Monitor::recalled(const PlayedLock& lock, Token claim, bool taken_away) {
  recalls_.add(lock, claim, taken_away, world_.now());
  if (taken_away) ledger(lock).forget(claim);
  ++deeds_.recalled;
}

void Monitor::raised(std::size_t store, std::uint64_t epoch) {
  look();  // what was granted before
  seen_[store].epoch = epoch;
  ++deeds_.epochs;
}

void Monitor::forgotten(std::size_t store, std::uint64_t epoch, std::optional<base::Time> known_by) {
  for (auto& [name, reigns] : reigns_) {
    if (name.first == store) reigns.forget(epoch);
  }
  for (auto& [lock, ledger] : ledgers_) {
    if (lock->store == store) ledger.forget();
  }
  for (Held& held : held_) {
    if (held.lock->store == store) held.over_at = known_by;
  }
  seen_[store].epoch = epoch;
  ++deeds_.forgotten;
}

void Monitor::closed(const base::SimProcess& process) {
  ++deeds_.closed;
  for (const Held& held : held_) {
    if (held.process != &process || !held.hold->valid()) continue;
    violated(Oracle::valid_after_close, held.lock->title() + " is held by a client that is closed");
  }
}

void Monitor::downgrades(const Hold& hold) {
  Held& held = find(hold);
  held.downgrades = true;
  held.written = false;
  if (hold.mode() == Mode::exclusive) ++deeds_.downgrades;
}

void Monitor::downgraded(const Hold& hold, const Result<void>& answer) {
  Held& held = find(hold);
  note("{} downgraded: {}", held.lock->title(), answer ? "done" : answer.error().to_string());
  held.downgrades = false;  // let it say itself what it is
  if (answer.code() == Errc::lost && hold.valid() && trusted(held)) {
    violated(Oracle::downgrade_denied, held.lock->title() + " is not lost, as its downgrade says");
  }
  if (answer && hold.mode() != Mode::shared) {
    violated(Oracle::exclusive_after_downgrade, held.lock->title() + " is exclusive after its downgrade");
  }
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
  const auto labelled = [&](const ClaimView& claim) { return claim.owner.label == label; };
  for (std::size_t store = 0; store < stores_.size(); ++store) {
    for (const LockView& view : stores_[store]->locks()) {
      const bool ours = std::any_of(wish.parts.begin(), wish.parts.end(), [&](const Wish::Part& part) {
        const PlayedLock& lock = *part.lock;
        const bool passed_on = !lock.strict && (view.kind == Kind::mutex || view.kind == Kind::rw);
        return lock.store == store && lock.kind == view.kind && lock.name == view.name && !passed_on;
      });
      const bool left = std::any_of(view.holders.begin(), view.holders.end(), labelled) ||
                        std::any_of(view.waiters.begin(), view.waiters.end(), labelled);
      if (!ours || !left) continue;
      violated(Oracle::refused_and_kept,
               fmt::format("{} has got nothing, and keeps {} {}", label, to_string(view.kind), view.name));
    }
  }
}

void Monitor::told(const PlayedLock& lock, Testimony& testimony, const std::optional<Leader>& change) {
  ++deeds_.told;
  complain(testimony.told(change, reigns_[{lock.store, lock.name}], world_.now()));
}

void Monitor::observed(const PlayedLock& lock, const Testimony& testimony) {
  complain(testimony.closed(reigns_[{lock.store, lock.name}], world_.now()));
}

void Monitor::excuse(const base::SimProcess& process, std::size_t store, base::Time until) {
  base::Time& end = excused_[{&process, store}];
  end = std::max(end, until);
}

bool Monitor::excused(const base::SimProcess& process, std::size_t store) const {
  const auto found = excused_.find({&process, store});
  return found != excused_.end() && world_.now() <= found->second;
}

bool Monitor::trusted(const Held& held) const {
  return !excused(*held.process, held.lock->store) && !recalls_.taken_away(held);
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
  return ledgers_.try_emplace(&lock, lock, stores_[lock.store]->may_lose_all()).first->second;
}

void Monitor::see(Held& held) {
  const Duration remaining = held.hold->remaining();
  if (remaining > 0s) {
    if (held.failed) violated(Oracle::lost_came_back, held.lock->title() + " was lost, and is valid again");
    held.until = held.process->in_world_time(held.process->now() + remaining);
  } else if (!held.failed) {
    held.failed = true;
    held.until = std::min(held.until, world_.now());
    if (trusted(held)) ledger(*held.lock).failed(held);
  }
}

void Monitor::look() {
  if (violation_) return;
  if (overtaken_ && world_.now() > overtaken_->at) {
    violated(Oracle::local_order, fmt::format("{} is granted {} before {}, who asked earlier", overtaken_->by,
                                              overtaken_->title, overtaken_->who));
  }
  for (Held& held : held_) see(held);
  check_exclusion();
  for (Held& held : held_) check_one(held);
  check_together();
  for (std::size_t store = 0; store < stores_.size(); ++store) {
    if (stores_[store]->requests() == seen_[store].requests) continue;  // nothing was asked, nothing has moved
    check_store(store);
    seen_[store].requests = stores_[store]->requests();  // our own visit is none of theirs
  }
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
    violated(Oracle::two_holders,
             fmt::format("two holders of {}: {} {} for {} ms more, {} {} for {} ms more", one->lock->title(),
                         to_string(one->mode()), one->token.to_string(), (one->until - now) / 1ms,
                         to_string(other->mode()), other->token.to_string(), (other->until - now) / 1ms));
  }
}

void Monitor::check_one(Held& held) {
  if (held.hold->release_requested().stop_requested()) passing_.asked_back(held, world_.now());
  if (fair_from_ && !held.process->paused()) complain(recalls_.check(held, *fair_from_, world_.now()));
  if (held.over_at && world_.now() > *held.over_at && held.valid(world_.now()) && !held.process->paused()) {
    violated(Oracle::forgotten_and_valid, "the store has forgotten the holder of " + held.lock->title() +
                                              ", and it has been told to look, and is still valid");
  }
  check_loss_is_told(held);
}

void Monitor::check_loss_is_told(Held& held) {
  if (held.valid(world_.now()) || held.process->paused()) return held.untold_since.reset();
  if (held.hold->lost().stop_requested()) return;
  if (!held.untold_since) held.untold_since = world_.now();
  if (world_.now() - *held.untold_since <= 100ms) return;
  violated(Oracle::loss_not_told, fmt::format("nobody told the holder of {} that it is lost", held.lock->title()));
}

void Monitor::check_together() {
  for (const auto& [process, holds] : together_) {
    for (std::size_t part = 0; part < holds->size(); ++part) {
      const Hold& hold = (*holds)[part];
      if (holds->valid() && !hold.valid()) {
        violated(Oracle::valid_in_part, "locks are held together, and one of them is not");
      }
      if (hold.lost().stop_requested() && !holds->lost().stop_requested()) {
        violated(Oracle::loss_in_part_not_told, "one of the locks held together is lost, and they are not");
      }
    }
  }
}

void Monitor::check_store(std::size_t store) {
  if (auto complaint = stores_[store]->complaint()) violated(Oracle::records, std::move(*complaint));
  const std::vector<LockView> views = stores_[store]->locks();
  for (const LockView& view : views) {
    if (stores_[store]->capabilities().fair) check_order(view);
    check_epochs(store, view);
    see_leaders(store, view);
  }
  for (const Held& held : held_) {
    if (held.lock->store == store && held.valid(world_.now()) && trusted(held)) check_known(held, views);
  }
}

void Monitor::check_epochs(std::size_t store, const LockView& view) {
  for (const ClaimView& holder : view.holders) {
    const bool is_new = seen_[store].holders.insert(holder.token).second;
    if (!is_new || holder.token.epoch() >= seen_[store].epoch) continue;
    violated(Oracle::epoch_not_raised,
             fmt::format("{} {} is granted with token {} after epoch {} was begun", to_string(view.kind), view.name,
                         holder.token.to_string(), seen_[store].epoch));
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
    violated(Oracle::store_order,
             fmt::format("{} {} is not served in the order of arrival", to_string(view.kind), view.name));
  }
}

void Monitor::see_leaders(std::size_t store, const LockView& view) {
  if (view.kind != Kind::election) return;
  for (const ClaimView& leader : view.holders) {
    reigns_[{store, view.name}].seen(leader.token, leader.value, world_.now());
  }
}

void Monitor::check_known(const Held& held, const std::vector<LockView>& views) {
  const ClaimView* known = nullptr;
  for (const LockView& view : views) {
    if (view.kind != held.lock->kind || view.name != held.lock->name) continue;
    for (const ClaimView& holder : view.holders) {
      if (holder.token == held.token.with_sub(0)) known = &holder;
    }
  }
  if (known == nullptr) {
    return violated(Oracle::unknown_to_store, "the store does not know a holder of " + held.lock->title());
  }
  if (known->mode == Mode::shared && held.mode() == Mode::exclusive) {
    violated(Oracle::shared_for_store,
             fmt::format("{} is shared for the store, and exclusive for its holder", held.lock->title()));
  }
  if (known->value != held.value) {
    violated(Oracle::other_value,
             fmt::format("{} stands for \"{}\", not \"{}\"", held.lock->title(), known->value, held.value));
  }
}

void Monitor::tell(std::string line) {
  story_.push_back(
      fmt::format("{:9.3f}s  {}", static_cast<double>(world_.now().time_since_epoch() / 1us) / 1e6 - 3600, line));
  if (story_.size() > 400) story_.pop_front();
}

void Monitor::complain(Complaint complaint) {
  if (!complaint) return;
  note("VIOLATED: {}", complaint->text);
  if (!violation_) violation_ = std::move(complaint);
}

}  // namespace pawl::test
