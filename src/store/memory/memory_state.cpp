#include "store/memory/memory_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::store::memory {

MemoryState::MemoryState(Clock clock, const Random& random, std::uint64_t epoch)
    : clock_(std::move(clock)), id_(random()) {
  queue_.emplace(sessions_, mail_, epoch);
}

void MemoryState::forget(const Random& random, std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  id_ = random();
  mail_.clear();
  sessions_ = {};
  queue_.emplace(sessions_, mail_, epoch);
}

Census MemoryState::census() {
  Visit visit(*this, nullptr);
  return {.sessions = sessions_.size(),
          .claims = queue_->claims(),
          .tombstones = sessions_.tombstones(),
          .keys = queue_->locks(),
          .watches = notices_.size()};
}

std::uint64_t MemoryState::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

// The clock is read under the mutex, so that requests see it in the order in which they are served.
void MemoryState::advance(const base::Runtime* caller) {
  if (clock_) {
    now_ = std::max(now_, clock_());
  } else if (caller != nullptr) {
    now_ = std::max(now_, caller->now());
  }
  // Everything that ended leaves first, then the locks are passed on: no grant goes to a session that is over as well.
  while (std::optional<Session> ended = sessions_.take_expired(now_)) queue_->end_session(*ended, ended->ends, true);
  queue_->settle(now_);
}

MemoryState::Visit::Visit(MemoryState& state, const base::Runtime* caller) : state_(state), lock_(state.mutex_) {
  ++state_.requests_;
  state_.advance(caller);
}

MemoryState::Visit::~Visit() {
  const std::vector<Mail> letters = std::exchange(state_.mail_, {});
  lock_.unlock();
  for (const Mail& letter : letters) state_.notices_.tell(letter.to, letter.notice);
}

void MemoryState::Visit::close_session(SessionId session) {
  const std::optional<Session> ended = state_.sessions_.take(session);
  if (!ended) return;
  state_.queue_->end_session(*ended, now(), false);
  state_.queue_->settle(now());
}

}  // namespace pawl::store::memory
