#include "session/keeper.hpp"

#include "base/planted.hpp"
#include "store/answered.hpp"

#include <algorithm>

namespace pawl::session {

using base::Bug;
using base::planted;

Keeper::Keeper(std::shared_ptr<Context> context)
    : context_(std::move(context)), runtime_(context_->runtime), all_over_(runtime_) {}

std::shared_ptr<Session> Keeper::live(Duration lease) const {
  const auto found = slots_.find(lease);
  if (closed_ || found == slots_.end() || !found->second.live || !found->second.live->live()) return nullptr;
  return found->second.live;
}

awaitable<Result<std::shared_ptr<Session>>> Keeper::session(Duration lease, Deadline deadline) {
  for (;;) {
    if (closed_) co_return Error{Errc::closed, "the client is closed"};
    if (auto known = live(lease)) co_return known;
    if (too_many(lease))
      co_return Error{Errc::overloaded, "a client can use at most 8 different lease lengths at a time"};
    if (!slots_[lease].opening) break;
    if (deadline.passed(runtime_.now())) {
      co_return Error{Errc::store_unavailable, "no session could be opened in time"};
    }
    co_await wait_for_opening(lease, deadline);
  }
  co_return co_await open(lease, deadline);
}

bool Keeper::too_many(Duration lease) const {
  const auto in_use = [](const auto& entry) {
    return entry.second.opening || (entry.second.live && entry.second.live->live());
  };
  const auto mine = slots_.find(lease);
  if (mine != slots_.end() && in_use(*mine)) return false;
  return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), in_use)) >= most_lengths;
}

awaitable<void> Keeper::wait_for_opening(Duration lease, Deadline deadline) {
  base::Wakeup wakeup{runtime_};
  slots_[lease].waiting.push_back(&wakeup);
  co_await wakeup.wait(deadline.at);
  const auto found = slots_.find(lease);
  if (found != slots_.end()) std::erase(found->second.waiting, &wakeup);
}

awaitable<Result<std::shared_ptr<Session>>> Keeper::open(Duration lease, Deadline deadline) {
  const auto self = shared_from_this();
  slots_[lease].opening = true;
  store::SessionRequest request;
  request.lease = lease;
  request.owner = context_->owner;
  std::shared_ptr<Session> session;
  Error last{Errc::store_unavailable, "no session could be opened in time"};
  while (!session && !deadline.passed(runtime_.now())) {
    const Time sent = runtime_.now();
    const Deadline attempt = deadline.sooner(base::after(sent, std::min(context_->timeout, lease)));
    Result<store::SessionGrant> grant = co_await store::answered(context_->store->open_session(request, attempt));
    if (grant) {
      session = std::make_shared<Session>(context_, *grant);
      ++open_sessions_;
      session->start(sent, [self, lease, raw = session.get()] { self->session_over(lease, raw); });
      if (!session->live()) session.reset();  // the answer came too late to be of use
      continue;
    }
    last = grant.error();
    slots_[lease].trouble = last.message;
    // A session that was opened unknown to us has no claims and runs out by itself: ask for another.
    if (last.code != Errc::outcome_unknown && last.code != Errc::store_unavailable) break;
    co_await base::sleep_until(runtime_, deadline.sooner(base::after(runtime_.now(), context_->timeout / 50)).at);
  }
  opened(lease, session);
  if (session) co_return session;
  if (last.code == Errc::outcome_unknown) last.code = Errc::store_unavailable;
  co_return last;
}

void Keeper::opened(Duration lease, const std::shared_ptr<Session>& session) {
  Slot& slot = slots_[lease];
  slot.opening = false;
  if (session) slot.trouble.clear();
  slot.live = session;
  if (session) base::tally(context_->telemetry.sessions_opened);
  if (session && closed_) session->end(loss::client_closed);
  for (base::Wakeup* waiting : slot.waiting) waiting->notify();
  if (!session && slot.waiting.empty()) slots_.erase(lease);
}

void Keeper::session_over(Duration lease, const Session* session) {
  const auto found = slots_.find(lease);
  if (found != slots_.end() && found->second.live.get() == session) {
    found->second.live.reset();
    if (!found->second.opening && found->second.waiting.empty()) slots_.erase(found);
  }
  if (planted(Bug::close_never_over)) return;
  if (--open_sessions_ == 0) all_over_.notify();
}

std::string Keeper::trouble(Duration lease) const {
  const auto found = slots_.find(lease);
  return found == slots_.end() ? std::string() : found->second.trouble;
}

void Keeper::renew_all() {
  if (planted(Bug::doubt_ignored)) return;
  for (auto& [lease, slot] : slots_) {
    if (slot.live) slot.live->renew_now();
  }
}

awaitable<bool> Keeper::close(Deadline deadline) {
  closed_ = true;
  for (auto& [lease, slot] : slots_) {
    if (slot.live) slot.live->end(loss::client_closed);
  }
  while (open_sessions_ != 0 && !deadline.passed(runtime_.now())) co_await all_over_.wait(deadline.at);
  co_return open_sessions_ == 0;
}

}  // namespace pawl::session
