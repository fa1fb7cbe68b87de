#include "session/validity.hpp"

#include "base/planted.hpp"

#include <utility>

namespace pawl::session {

using base::Bug;
using base::planted;

bool Validity::confirm(Time sent) {
  const Duration margin = planted(Bug::no_drift_margin) ? Duration::zero() : base::drift(lease_);
  const std::int64_t next = (base::after(sent, lease_) - margin).time_since_epoch().count();
  std::int64_t before = deadline_.load();
  do {
    if (before == gone) return false;
    const std::int64_t now = runtime_.now().time_since_epoch().count();
    const std::int64_t limit = before == unconfirmed ? next : before;
    if (now >= limit && !planted(Bug::late_confirmation)) {
      end(loss::not_renewed);
      return false;
    }
    if (next <= before) return true;  // an older answer than the one we have
  } while (!deadline_.compare_exchange_weak(before, next));
  if (before == unconfirmed) {
    set_alarm(jeopardy_at());
  } else if (planted(Bug::jeopardy_stays) ? jeopardy_told_.load() : jeopardy_told_.exchange(false)) {
    tell(&Watcher::validity_safe);
  }
  return true;
}

void Validity::end(const char* why) {
  if (deadline_.exchange(gone) != gone) tell(&Watcher::validity_lost, why);
}

Duration Validity::remaining(Time now) const {
  const std::int64_t deadline = deadline_.load();
  if (deadline <= 0) return Duration::zero();
  const Duration left = Time(Duration(deadline)) - now;
  return left > Duration::zero() ? left : Duration::zero();
}

Validity::WatcherId Validity::watch(std::weak_ptr<Watcher> watcher) {
  const std::lock_guard lock(mutex_);
  // Under the mutex: whoever makes it `gone` takes the watchers under it afterwards.
  if (deadline_.load() == gone) return 0;
  watchers_.emplace(++last_watcher_, std::move(watcher));
  return last_watcher_;
}

void Validity::unwatch(WatcherId id) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(id);
}

void Validity::set_alarm(Time at) {
  runtime_.set_alarm(at, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look_at_the_clock();
  });
}

// On the thread of the alarms. Renewals do not touch the alarm: it finds the newest deadline when it comes.
void Validity::look_at_the_clock() {
  const std::int64_t seen = deadline_.load();
  if (seen == gone) return;
  const Time now = runtime_.now();
  const Time deadline{Duration(seen)};
  if (now < deadline - lease_ / 3) return set_alarm(deadline - lease_ / 3);
  if (now < deadline) {
    if (!jeopardy_told_.exchange(true)) tell(&Watcher::validity_in_jeopardy);
    return set_alarm(deadline);
  }
  std::int64_t expected = seen;
  if (deadline_.compare_exchange_strong(expected, gone)) return tell(&Watcher::validity_lost, loss::not_renewed);
  look_at_the_clock();
}

template <class... Args>
void Validity::tell(void (Watcher::*what)(Args...), Args... args) {
  std::map<WatcherId, std::weak_ptr<Watcher>> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers = watchers_;
  }
  for (const auto& [id, watcher] : watchers) {
    if (const auto told = watcher.lock()) ((*told).*what)(args...);
  }
}

}  // namespace pawl::session
