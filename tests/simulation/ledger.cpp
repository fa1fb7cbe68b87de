#include "tests/simulation/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

bool exclude(Kind kind, const Claimed& one, const Claimed& other) {
  if (kind == Kind::rw) return one.mode == Mode::exclusive || other.mode == Mode::exclusive;
  if (kind != Kind::permits) return true;
  return std::any_of(one.slots.begin(), one.slots.end(), [&](std::uint32_t slot) {
    return std::find(other.slots.begin(), other.slots.end(), slot) != other.slots.end();
  });
}

Complaint Ledger::granted(const Held& held, const lock::Wanted& wanted, base::Time now) {
  Complaint complaint = check_permits(held, wanted);
  if (!complaint && !held.doubtful) complaint = check_token(held);
  if (!complaint && !held.doubtful) complaint = check_ghosts(held, now);
  const auto raise = [&](Newest& newest) { newest.token = std::max(newest.token, held.token); };
  for (const std::uint32_t slot : held.slots) raise(slots_[slot]);
  raise(held.mode() == Mode::shared ? shared_ : exclusive_);
  return complaint;
}

Complaint Ledger::check_permits(const Held& held, const lock::Wanted& wanted) const {
  std::vector<std::uint32_t> slots = held.slots;
  std::sort(slots.begin(), slots.end());
  const bool distinct = std::adjacent_find(slots.begin(), slots.end()) == slots.end();
  const bool exist = slots.empty() || slots.back() < lock_.permits;
  if (slots.size() == wanted.permits.wanted && distinct && exist) return {};
  return Violation{Oracle::wrong_permits, fmt::format("{} gave permits {} of {} where {} were asked for", lock_.title(),
                                                      fmt::join(slots, ","), lock_.permits, wanted.permits.wanted)};
}

Complaint Ledger::check_token(const Held& held) const {
  Token before = exclusive_.token;
  if (held.mode() == Mode::exclusive) before = std::max(before, shared_.token);
  if (lock_.kind == Kind::permits) {
    before = {};
    for (const std::uint32_t slot : held.slots) {
      const auto newest = slots_.find(slot);
      if (newest != slots_.end()) before = std::max(before, newest->second.token);
    }
  }
  if (held.token > before) return {};
  return Violation{Oracle::token_did_not_grow, fmt::format("token of {} did not grow: {} after {}", lock_.title(),
                                                           held.token.to_string(), before.to_string())};
}

Complaint Ledger::check_ghosts(const Held& held, base::Time now) {
  std::erase_if(ghosts_, [&](const Ghost& ghost) { return ghost.until <= now; });
  const auto ghost = std::find_if(ghosts_.begin(), ghosts_.end(), [&](const Ghost& one) {
    return exclude(lock_.kind, {one.mode, one.slots}, {held.mode(), held.slots});
  });
  if (ghost == ghosts_.end()) return {};
  return Violation{Oracle::granted_too_early, fmt::format("{} was granted {} ms too early after its holder failed",
                                                          lock_.title(), (ghost->until - now) / 1ms)};
}

void Ledger::failed(const Held& held) {
  ghosts_.push_back({base::after(held.until, held.lock_delay), held.mode(), held.slots, held.claim()});
}

Complaint Ledger::write(Held& held, bool trusted, base::Time now) {
  if (held.mode() != held.hold->mode()) return {};  // on its way from writer to reader
  const std::size_t sequencers = std::max<std::size_t>(1, held.slots.size());
  Complaint complaint;
  for (std::size_t permit = 0; permit < sequencers && !complaint; ++permit) {
    complaint = write(held, permit, trusted, now);
  }
  return complaint;
}

Complaint Ledger::write(Held& held, std::size_t permit, bool trusted, base::Time now) {
  const Sequencer sequencer = held.hold->sequencer(permit);
  const bool overtaken = !held.doubtful && held.number < overtaken_by(sequencer.mode, sequencer.slot);
  const Result<void> admitted = fence_.admit(sequencer, [] {});
  if (!admitted && trusted && held.valid(now)) {
    return Violation{Oracle::fence_refuses_holder, fmt::format("{} is held, and the fence refuses its holder: {}",
                                                               lock_.title(), admitted.error().to_string())};
  }
  if (admitted && trusted && overtaken) {
    return Violation{Oracle::fence_admits_overtaken,
                     fmt::format("{} was overtaken with token {}, and the fence does not know", lock_.title(),
                                 held.token.to_string())};
  }
  held.written = admitted.has_value();
  if (admitted && !held.doubtful) {
    Newest& newest = this->newest(sequencer.mode, sequencer.slot);
    newest.writer = std::max(newest.writer, held.number);
  }
  return {};
}

Complaint Ledger::write_after_downgrade(const Sequencer& before) {
  if (!fence_.check(before)) return {};
  return Violation{Oracle::fence_admits_after_downgrade,
                   fmt::format("{} is read with token {}, and the fence admits a write with it", lock_.title(),
                               before.token.to_string())};
}

Ledger::Newest& Ledger::newest(Mode mode, std::optional<std::uint32_t> slot) {
  if (slot) return slots_[*slot];
  return mode == Mode::shared ? shared_ : exclusive_;
}

std::uint64_t Ledger::overtaken_by(Mode mode, std::optional<std::uint32_t> slot) {
  if (slot) return slots_[*slot].writer;
  return mode == Mode::shared ? exclusive_.writer : std::max(exclusive_.writer, shared_.writer);
}

}  // namespace pawl::test
