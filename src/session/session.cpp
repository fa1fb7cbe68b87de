#include "session/session.hpp"

#include "base/planted.hpp"
#include "store/answered.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::session {

using base::Bug;
using base::planted;

Session::Session(std::shared_ptr<Context> context, store::SessionGrant grant)
    : context_(std::move(context)),
      runtime_(context_->runtime),
      grant_(grant),
      validity_(std::make_shared<Validity>(runtime_, grant.lease)),
      wakeup_(runtime_),
      idle_since_(runtime_.now()) {}

Session::Membership Session::join(Member& member, store::ClaimId claim) {
  members_.emplace(++last_membership_, Seat{&member, claim});
  return last_membership_;
}

void Session::leave(Membership membership) {
  wait_for_news(membership, false);
  if (members_.erase(membership) == 0 || !members_.empty()) return;
  idle_since_ = runtime_.now();
}

void Session::wait_for_news(Membership membership, bool on) {
  const auto seat = members_.find(membership);
  if (seat == members_.end() || std::exchange(seat->second.waits, on) == on) return;
  waiting_ = on ? waiting_ + 1 : waiting_ - 1;
  const Time due = base::after(runtime_.now(), ask_for_news);
  if (!on || next_renewal_ <= due) return;
  next_renewal_ = due;
  wakeup_.notify();
}

void Session::start(Time sent, std::function<void()> over) {
  last_sent_ = sent;
  next_renewal_ = sent + interval();
  validity_->watch(std::shared_ptr<Validity::Watcher>(shared_from_this(), this));
  validity_->confirm(sent);
  base::spawn(runtime_, keep(shared_from_this(), std::move(over)));
}

void Session::validity_lost(const char* why) {
  if (runtime_.inert()) return;
  runtime_.send([self = shared_from_this(), why] { self->lost(why); });
}

void Session::renew_now() {
  if (ended_) return;
  next_renewal_ = runtime_.now();
  wakeup_.notify();
}

void Session::end(const char* why) {
  if (ended_) return;
  ended_ = true;
  validity_->end(why);
  wakeup_.notify();
}

void Session::lost(const char* why) {
  if (planted(Bug::renew_after_lost)) return;
  end(why);
  const auto members = std::exchange(members_, {});
  for (const auto& [membership, seat] : members) seat.member->session_lost();
}

Duration Session::interval() const { return std::min(grant_.lease / 3, grant_.renew_within); }

bool Session::idle() const {
  if (planted(Bug::renew_after_lost) && !validity_->valid()) return false;
  return members_.empty() && runtime_.now() >= base::after(idle_since_, grant_.lease);
}

// `self` is an argument: a coroutine begins later than it is called, and the caller may have let go by then.
awaitable<void> Session::keep([[maybe_unused]] std::shared_ptr<Session> self, std::function<void()> over) {
  while (!ended_) {
    co_await wakeup_.wait(next_renewal_);
    // After a pause the deadline may have passed, and lost() may still be on its way from the notifier.
    const bool late = !validity_->valid() && !planted(Bug::renew_after_lost);
    if (ended_ || late || idle()) break;
    if (runtime_.now() >= next_renewal_) co_await renew();
  }
  lost(loss::not_renewed);  // whoever is still a member must hear of it
  co_await close_at_store();
  over();
}

awaitable<void> Session::renew() {
  const Time sent = runtime_.now();
  last_sent_ = sent;
  next_renewal_ = Time::max();  // whoever wants one sooner while this one is under way gets another
  const Deadline deadline = Deadline::in(sent, std::min(context_->timeout, grant_.lease / 3));
  Result<store::Renewal> renewal = co_await store::answered(context_->store->renew(grant_.id, deadline));
  if (ended_ && !planted(Bug::renew_after_lost)) co_return;
  if (renewal) {
    base::tally(context_->telemetry.renewals);
    const Duration usual = interval();
    next_renewal_ = std::min(next_renewal_, sent + (waiting_ > 0 ? std::min(usual, ask_for_news) : usual));
    const Time counts_from = renewal->counts_from.value_or(sent);
    const Time confirmed = planted(Bug::deadline_from_reply) ? runtime_.now() : counts_from;
    end_unconfirmed(renewal->unconfirmed);  // first: its hold would go by the new deadline otherwise
    if (validity_->confirm(confirmed)) renewed(*renewal);
    co_return;
  }
  base::tally(context_->telemetry.renewal_failures);
  // Sooner than a third: the lease still stands, and the next try may get through.
  next_renewal_ = std::min(next_renewal_, runtime_.now() + std::min(grant_.lease / 12, ask_for_news));
  if (renewal.code() == Errc::lost) lost(loss::session_unknown);
}

void Session::end_unconfirmed(const std::vector<store::ClaimId>& claims) {
  if (claims.empty()) return;
  const std::set<store::ClaimId> named(claims.begin(), claims.end());
  const auto members = members_;
  for (const auto& [membership, seat] : members) {
    if (named.contains(seat.claim)) seat.member->claim_unconfirmed();
  }
}

void Session::renewed(const store::Renewal& renewal) {
  const bool moved = std::exchange(changes_, renewal.changes) != renewal.changes;
  const auto& changed = renewal.changed;
  if (changed ? changed->empty() : !moved) return;
  const std::set<store::ClaimId> named =
      changed ? std::set(changed->begin(), changed->end()) : std::set<store::ClaimId>();
  const auto members = members_;
  for (const auto& [membership, seat] : members) {
    if (!changed || named.contains(seat.claim)) seat.member->session_changed();
  }
}

// Until the store confirms it, or its lease is over there as well: nothing was renewed after last_sent_.
awaitable<void> Session::close_at_store() {
  if (planted(Bug::session_not_closed)) co_return;
  const Time give_up = base::after(last_sent_, 2 * grant_.lease + context_->timeout);
  Duration pause = grant_.lease / 12;
  while (runtime_.now() < give_up) {
    const Deadline deadline = Deadline::in(runtime_.now(), context_->timeout);
    Result<void> closed = co_await store::answered(context_->store->close_session(grant_.id, deadline));
    if (closed) co_return;
    co_await base::sleep_for(runtime_, pause);
    pause = std::min(pause * 2, grant_.lease);
  }
}

}  // namespace pawl::session
