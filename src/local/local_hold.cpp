#include "local/local_hold.hpp"

#include "base/planted.hpp"

#include <algorithm>
#include <utility>

namespace pawl::local {

namespace {

constexpr const char* too_long = "it was held for longer than max_hold";

}  // namespace

LocalHold::LocalHold(std::shared_ptr<session::Context> context, std::shared_ptr<session::Validity> validity,
                     Terms terms)
    : context_(std::move(context)),
      runtime_(context_->runtime),
      validity_(std::move(validity)),
      terms_(std::move(terms)),
      since_(runtime_.now()),
      until_(terms_.max_hold ? base::after(since_, *terms_.max_hold) : Time::max()),
      mode_(terms_.mode) {}

LocalHold::~LocalHold() {
  if (runtime_.inert()) return;
  validity_->unwatch(watcher_);
  runtime_.cancel_alarm(alarm_);
}

void LocalHold::start(std::weak_ptr<void> owner, std::function<void(const std::shared_ptr<LocalHold>&)> on_lost) {
  owner_ = std::move(owner);
  on_lost_ = std::move(on_lost);
  const auto self = shared_from_this();
  watcher_ = validity_->watch(std::shared_ptr<session::Validity::Watcher>(self, this));
  if (terms_.max_hold) {
    alarm_ = runtime_.set_alarm(until_, [weak = weak_from_this()] {
      if (const auto hold = weak.lock()) hold->lose(too_long);
    });
  }
  if (watcher_ == 0) lose("the lease was over before the grant arrived");
}

void LocalHold::validity_lost(const char* why) { lose(why); }

void LocalHold::validity_in_jeopardy() {
  if (phase_.load() != Phase::held) return;
  base::tally(context_->telemetry.jeopardies);
  report(EventType::jeopardy, "the lease could not be confirmed yet");
}

void LocalHold::validity_safe() {
  if (phase_.load() == Phase::held) report(EventType::safe, "the lease is confirmed again");
}

Duration LocalHold::remaining(Time now) const {
  if (phase_.load() != Phase::held) return Duration::zero();
  return std::min(validity_->remaining(now), std::max(Duration::zero(), until_ - now));
}

HoldState LocalHold::state() const {
  switch (phase_.load()) {
    case Phase::released: return HoldState::released;
    case Phase::lost: return HoldState::lost;
    case Phase::held: break;
  }
  const Time now = runtime_.now();
  if (remaining(now) <= Duration::zero()) return HoldState::lost;
  return validity_->in_jeopardy(now) ? HoldState::jeopardy : HoldState::held;
}

const char* LocalHold::why_overdue(Time now) const { return until_ <= now ? too_long : session::loss::not_renewed; }

std::string LocalHold::why_lost() const {
  {
    const std::lock_guard lock(mutex_);
    if (!why_lost_.empty()) return why_lost_;
  }
  return state() == HoldState::lost ? why_overdue(runtime_.now()) : "";
}

bool LocalHold::leave(Phase phase, Time now) {
  Phase expected = Phase::held;
  if (!phase_.compare_exchange_strong(expected, phase)) return false;
  context_->telemetry.hold.add(now - since_);
  return true;
}

bool LocalHold::let_go() {
  const Time now = runtime_.now();
  if (phase_.load() == Phase::held && remaining(now) <= Duration::zero()) {
    lose(why_overdue(now));
  }
  if (!leave(Phase::released, now)) return false;
  base::tally(context_->telemetry.released);
  report(EventType::released, {});
  return true;
}

// The holder first: it must stop. Only then is the queue behind it told, but it does not wait for ever for users' code.
void LocalHold::lose(const std::string& why) {
  const auto self = shared_from_this();
  const auto owner = owner_.lock();  // before anybody can see the loss, throw the hold away, and the queue with it
  {
    const std::lock_guard lock(mutex_);
    if (!leave(Phase::lost, runtime_.now())) return;
    why_lost_ = why;
  }
  base::tally(context_->telemetry.lost);  // first: whoever is told of the loss may look at the metrics
  report(EventType::lost, why);
  const Runtime::AlarmId late =
      runtime_.set_alarm(base::after(runtime_.now(), longest_callback), [self, owner] { self->tell_queue(); });
  runtime_.notify([self, owner, late] {
    if (!base::planted(base::Bug::loss_not_told)) self->lost_.request_stop();
    self->runtime_.cancel_alarm(late);
    self->tell_queue();
  });
}

void LocalHold::tell_queue() {
  if (queue_told_.exchange(true)) return;
  if (on_lost_) on_lost_(shared_from_this());
  on_lost_ = nullptr;
}

void LocalHold::ask_for_release() {
  if (release_requested_.stop_requested()) return;
  runtime_.notify([self = shared_from_this()] { self->release_requested_.request_stop(); });
}

void LocalHold::report(EventType type, const std::string& message) {
  if (!context_->telemetry.observed()) return;
  context_->report(type, terms_.key, {terms_.token, runtime_.now() - since_, message});
}

}  // namespace pawl::local
