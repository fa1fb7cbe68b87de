#include "tests/simulation/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

void Monitor::granted(const base::SimProcess& process, const std::string& lock, const Hold& hold) {
  ++grants_;
  note(fmt::format("{} granted with token {}", lock, hold.token().to_string()));
  Token& newest = newest_[lock];
  if (hold.token() <= newest && !excused(process)) {
    violated(fmt::format("token of {} did not grow: {} after {}", lock, hold.token().to_string(), newest.to_string()));
  }
  newest = std::max(newest, hold.token());
  held_.push_back({&process, lock, &hold});
}

void Monitor::ended(const Hold& hold) {
  std::erase_if(held_, [&](const Held& held) { return held.hold == &hold; });
}

void Monitor::excuse(const base::SimProcess& process, base::Time until) { excused_[&process] = until; }

bool Monitor::excused(const base::SimProcess& process) const {
  const auto found = excused_.find(&process);
  return found != excused_.end() && world_.now() <= found->second;
}

void Monitor::crashed(const base::SimProcess& process) {
  std::erase_if(held_, [&](const Held& held) { return held.process == &process; });
}

void Monitor::look() {
  if (violation_) return;
  check_exclusion();
  check_loss_is_told();
  if (state_->requests() == requests_seen_) return;  // nothing was asked, nothing has moved
  requests_seen_ = state_->requests();
  check_order();
}

void Monitor::check_exclusion() {
  for (auto one = held_.begin(); one != held_.end(); ++one) {
    if (!one->hold->valid() || excused(*one->process)) continue;
    const auto other = std::find_if(one + 1, held_.end(), [&](const Held& held) {
      return held.lock == one->lock && held.hold->valid() && !excused(*held.process);
    });
    if (other == held_.end()) continue;
    violated(fmt::format("two holders of {}: {} for {} ms more, {} for {} ms more", one->lock,
                         one->hold->token().to_string(), one->hold->remaining() / 1ms, other->hold->token().to_string(),
                         other->hold->remaining() / 1ms));
  }
}

void Monitor::check_loss_is_told() {
  for (Held& held : held_) {
    if (held.hold->valid() || held.process->paused()) {
      held.over_since.reset();
      continue;
    }
    if (held.hold->lost().stop_requested()) continue;
    if (!held.over_since) held.over_since = world_.now();
    if (world_.now() - *held.over_since <= 100ms) continue;
    violated(fmt::format("nobody told the holder of {} that it is lost", held.lock));
  }
}

void Monitor::check_order() {
  std::vector<LockView> views;
  {
    store::memory::MemoryState::Visit visit(*state_, reader_);
    views = visit.queue().list({}, visit.now());
  }
  requests_seen_ = state_->requests();  // our own visit is none of theirs
  for (const LockView& view : views) check_order(view);
}

void Monitor::check_order(const LockView& view) {
  std::vector<const ClaimView*> line;
  for (const ClaimView& holder : view.holders) line.push_back(&holder);
  for (const ClaimView& waiter : view.waiters) line.push_back(&waiter);
  for (const ClaimView* claim : line) arrivals_.emplace(claim->claim, arrivals_.size());
  const bool ordered = std::is_sorted(line.begin(), line.end(), [&](const ClaimView* a, const ClaimView* b) {
    return arrivals_[a->claim] < arrivals_[b->claim];
  });
  if (!ordered) violated(fmt::format("{} is not served in the order of arrival", view.name));
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
