#include "claim/remote_claim.hpp"

#include "base/planted.hpp"
#include "store/answered.hpp"
#include "store/rules.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace pawl::claim {

using base::Bug;
using base::planted;
using store::answered;
using store::answered_now;
using store::Notice;

namespace {

constexpr const char* withdrawn_by_others = "it was taken away, as by pawl revoke --now";
constexpr const char* store_forgot = "the store has lost what it knew of it";
constexpr const char* not_renewed_with_session = "the store has renewed the session without it";

constexpr Duration longest_spin = std::chrono::milliseconds(50);
constexpr Duration shortest_spin_pause = std::chrono::microseconds(20);
constexpr Duration longest_spin_pause = std::chrono::milliseconds(1);

}  // namespace

void Settlement::settle(Result<void> result) {
  outcome = std::move(result);
  wakeup.notify();
}

RemoteClaim::RemoteClaim(std::shared_ptr<Context> context, std::shared_ptr<Keeper> keeper, store::Scheme& scheme,
                         Wish wish, Listener& listener)
    : context_(std::move(context)),
      runtime_(context_->runtime),
      keeper_(std::move(keeper)),
      scheme_(scheme),
      wish_(std::move(wish)),
      listener_(&listener),
      wakeup_(runtime_),
      downgrade_answered_(runtime_) {}

RemoteClaim::~RemoteClaim() {
  if (session_ && !runtime_.inert()) end();
}

void RemoteClaim::start() {
  base::tally(context_->telemetry.store_claims);
  const auto self = shared_from_this();
  // One that is let go just now must leave first, or a try would find us busy with ourselves.
  const bool step_aside = context_->leaving > 0;
  const bool granted = !step_aside && granted_at_once();
  if (!granted) base::spawn(runtime_, run(self, step_aside));
}

// The short way to a free lock, where the store can answer at once: no task, until there is something to do.
bool RemoteClaim::granted_at_once() {
  std::shared_ptr<Session> session = keeper_->live(wish_.terms.lease);
  if (!session) return false;
  begin(std::move(session));
  first_answer_ = answered_now([this] { return scheme_.claim_now(*claim_); });
  if (!first_answer_ || !*first_answer_ || session_over()) return false;
  const auto* granted = std::get_if<store::Granted>(&**first_answer_);
  if (granted == nullptr) return false;
  resting_ = true;
  grant(*granted);
  return true;
}

bool RemoteClaim::withdrawn_at_once() {
  if (session_over() || downgrades_under_way_ > 0) return false;
  const std::optional<Result<store::Withdrawn>> answer =
      answered_now([this] { return scheme_.withdraw_now(*claim_, withdrawal()); });
  if (!answer || !judge(*answer)) return false;
  listener_ = nullptr;
  wanted_ = false;
  nothing_left_ = true;
  if (!std::exchange(resting_, false)) {
    wakeup_.notify();  // the task has only to end
    return true;
  }
  end();
  state_ = State::over;
  return true;
}

std::string RemoteClaim::trouble() const {
  const std::string opening = session_ ? std::string() : keeper_->trouble(wish_.terms.lease);
  return opening.empty() ? trouble_ : opening;
}

// Not at once: whoever stirs us is in the middle of something.
void RemoteClaim::stir() {
  wakeup_.notify();
  if (!std::exchange(resting_, false)) return;
  constexpr bool step_aside = true;
  base::spawn(runtime_, run(shared_from_this(), step_aside));
}

void RemoteClaim::give_up() {
  listener_ = nullptr;
  if (std::exchange(wanted_, false)) leaving_.emplace(*context_);
  stir();
}

void RemoteClaim::let_go(store::Ending ending, std::shared_ptr<Settlement> settlement) {
  const auto self = shared_from_this();
  ending_ = ending;
  if (settlement) report_release_to(std::move(settlement));
  if (state_ == State::held && withdrawn_at_once()) return;
  give_up();
}

void RemoteClaim::report_release_to(std::shared_ptr<Settlement> settlement) {
  if (released_) return settlement->settle(*released_);
  settlements_.push_back(std::move(settlement));
}

awaitable<Result<void>> RemoteClaim::downgrade(Deadline deadline) {
  const auto self = shared_from_this();
  Duration pause = std::chrono::milliseconds(10);
  bool unknown = false;
  for (;;) {
    if (state_ != State::held || session_over()) co_return Error{Errc::lost, "the hold was lost before"};
    const Deadline attempt = deadline.sooner(base::after(runtime_.now(), attempt_time()));
    ++downgrades_under_way_;
    Result<void> done = co_await answered(scheme_.downgrade(*claim_, attempt));
    --downgrades_under_way_;
    downgrade_answered_.notify();
    if (done) {
      wish_.terms.mode = claim_->mode = Mode::shared;
      co_return done;
    }
    unknown = unknown || done.code() == Errc::outcome_unknown;
    if (!store::may_pass(done.code()) || deadline.passed(runtime_.now())) {
      if (unknown) co_return Error{Errc::outcome_unknown, "the store has not confirmed the downgrade"};
      co_return done;
    }
    co_await base::sleep_for(runtime_, pause);
    pause = std::min(2 * pause, attempt_time());
  }
}

void RemoteClaim::relabel(const std::string& label) {
  if (!claim_ || claim_->label == label) return;
  claim_->label = label;
  label_changed_ = true;
  stir();
}

awaitable<void> RemoteClaim::run([[maybe_unused]] std::shared_ptr<RemoteClaim> self, bool step_aside) {
  const session::Context::Task task(*context_);
  if (step_aside) co_await base::step_aside(runtime_);
  if (!wish_.may_queue) patience_ = base::after(runtime_.now(), context_->patience());
  while (wanted_ || session_) {
    if (!session_) {
      const Deadline opening = Deadline::in(runtime_.now(), context_->patience());
      Result<std::shared_ptr<Session>> session = co_await keeper_->session(wish_.terms.lease, opening);
      if (!session) fail(session.error());
      if (!wanted_) break;
      begin(std::move(*session));
    }
    Outcome outcome = Outcome::granted;
    if (state_ != State::held) outcome = co_await ask();
    if (outcome == Outcome::granted) co_await hold();
    const bool left_behind = (planted(Bug::unknown_is_failure) && unsettled_) ||
                             (planted(Bug::timeout_leaves_claim) && outcome == Outcome::over);
    if (!left_behind && !nothing_left_) co_await withdraw();
    end();
    if (outcome != Outcome::ask_again) break;
    // At once the first time; a store that ends every session at once must not keep us spinning.
    co_await wakeup_.wait(base::after(runtime_.now(), backoff_));
    back_off();
  }
  settle(Error{Errc::lost, "the hold was lost before it was released"});
  leaving_.reset();
  state_ = State::over;
}

void RemoteClaim::begin(std::shared_ptr<Session> session) {
  store::Claim claim{runtime_.make_id<store::ClaimId>(), session->id(), wish_.key};
  claim.lease = wish_.terms.lease;
  claim.lock_delay = wish_.terms.lock_delay;
  claim.mode = wish_.terms.mode;
  claim.permits = wish_.terms.permits;
  claim.value = wish_.value;
  if (wish_.spin && spin_until_ == Time{}) spin_until_ = base::after(runtime_.now(), longest_spin);
  claim.may_queue = wish_.may_queue && runtime_.now() >= spin_until_;
  if (planted(Bug::tries_only)) wish_.may_queue = claim.may_queue = false;
  claim.label = wish_.label;
  session_ = std::move(session);
  claim_ = std::move(claim);
  membership_ = session_->join(*this, claim_->id);
  state_ = State::asking;
  first_answer_.reset();
  pushed_.reset();
  unsettled_ = withdrawal_unsettled_ = must_look_ = nothing_left_ = false;
  taken_away_ = nullptr;
  released_.reset();
  scheme_.watch(claim_->id, make_waker());  // first watch, then ask: a release in between must not be missed
}

awaitable<RemoteClaim::Outcome> RemoteClaim::ask() {
  for (;;) {
    if (!wanted_) co_return Outcome::over;
    if (session_over()) co_return Outcome::ask_again;
    if (taken_away_ != nullptr) {
      fail(Error{Errc::lost, "the place in the queue was taken away"});
      co_return Outcome::over;
    }
    if (!first_answer_) {
      nothing_left_ = false;
      const Deadline deadline = Deadline::in(runtime_.now(), attempt_time());
      first_answer_ = co_await answered(scheme_.claim(*claim_, deadline));
    }
    const Result<store::ClaimState> answer = *std::exchange(first_answer_, std::nullopt);
    Duration pause{};
    const std::optional<Outcome> decided = judge(answer, pause);
    if (decided) co_return *decided;
    const Time look_again = planted(Bug::hint_only) ? Time::max() : base::after(runtime_.now(), pause);
    co_await wakeup_.wait(look_again);
    if (pushed_ && wanted_) co_return grant(*pushed_);
  }
}

std::optional<RemoteClaim::Outcome> RemoteClaim::judge(const Result<store::ClaimState>& answer, Duration& pause) {
  if (!wanted_) {
    if (answer.code() == Errc::outcome_unknown) unsettled_ = true;
    return Outcome::over;
  }
  if (!answer) return judge_error(answer.error(), pause);
  backoff_ = Duration::zero();
  trouble_.clear();
  if (const auto* granted = std::get_if<store::Granted>(&*answer)) return grant(*granted);
  const auto& waiting = std::get<store::Waiting>(*answer);
  seen_ = waiting;
  must_wait_ = true;
  if (!wish_.may_queue) {
    nothing_left_ = !unsettled_;
    fail(Error{Errc::busy, "somebody else holds it"});
    return Outcome::over;
  }
  if (spins()) {
    nothing_left_ = !unsettled_;
    pause = spin_once();
    return std::nullopt;
  }
  if (!std::exchange(told_waiting_, true)) context_->report(EventType::waiting, wish_.key);
  pause = waiting.look_again_in;
  session_->wait_for_news(membership_, pause > Session::ask_for_news);
  return std::nullopt;
}

std::optional<RemoteClaim::Outcome> RemoteClaim::judge_error(const Error& error, Duration& pause) {
  if (error.code == Errc::outcome_unknown) unsettled_ = true;
  if (error.code == Errc::lost) {
    session_->end(session::loss::session_unknown);
    return Outcome::ask_again;
  }
  if (error.code == Errc::not_owner) {
    fail(Error{Errc::lost, "the place in the queue was taken away"});
    return Outcome::over;
  }
  const bool patient = wish_.may_queue || runtime_.now() < patience_;
  if (!store::may_pass(error.code) || !patient || (planted(Bug::unknown_is_failure) && unsettled_)) {
    fail(error);
    return Outcome::over;
  }
  // The claim keeps its place as long as the session lives: ask again, by the same id.
  trouble_ = error.message;
  back_off();
  pause = backoff_;
  return std::nullopt;
}

RemoteClaim::Outcome RemoteClaim::grant(const store::Granted& granted) {
  // The store's word may be old by now, or be for a session that we have already given up.
  if (session_over()) return Outcome::ask_again;
  state_ = State::held;
  token_ = granted.token;
  session_->wait_for_news(membership_, false);
  if (listener_ != nullptr) listener_->claim_granted(granted, session_->validity());
  return Outcome::granted;
}

awaitable<void> RemoteClaim::hold() {
  for (bool just_granted = true; wanted_ && taken_away_ == nullptr; just_granted = false) {
    if (!just_granted && session_over()) break;
    if (must_look_) {
      co_await look();
      continue;
    }
    if (std::exchange(label_changed_, false)) {
      const Deadline deadline = Deadline::in(runtime_.now(), attempt_time());
      [[maybe_unused]] auto shown = co_await answered(scheme_.relabel(*claim_, deadline));  // for people only
      continue;
    }
    co_await wakeup_.wait(Time::max());
  }
  if (!wanted_) co_return;
  ending_ = store::Ending::failed;
  const char* const why = taken_away_ != nullptr ? taken_away_ : session::loss::not_renewed;
  if (listener_ != nullptr) std::exchange(listener_, nullptr)->claim_lost(why);
  wanted_ = false;
}

awaitable<void> RemoteClaim::look() {
  must_look_ = false;
  const Deadline deadline = Deadline::in(runtime_.now(), attempt_time());
  Result<store::Standing> standing = co_await answered(scheme_.look(*claim_, deadline));
  if (standing.code() == Errc::lost) session_->end(session::loss::session_unknown);
  if (!standing) {
    must_look_ = true;  // the change number has moved on already: nobody will tell us again
    co_await wakeup_.wait(base::after(runtime_.now(), attempt_time() / 4));
    co_return;
  }
  // A store that has lost its last writes takes it for a waiter again, or has granted it anew: others may have held it since.
  const bool granted_anew = standing->token != Token() && standing->token != token_;
  if (standing->place == store::Standing::Place::gone) {
    taken_away_ = withdrawn_by_others;
  } else if (standing->place != store::Standing::Place::held || granted_anew) {
    taken_away_ = store_forgot;
  }
  if (planted(Bug::taken_away_is_kept)) taken_away_ = nullptr;
  if (listener_ == nullptr || taken_away_ != nullptr) co_return;
  if (standing->contended) listener_->claim_contended();
  if (listener_ != nullptr && standing->release_requested) listener_->claim_release_requested();
}

// Goes on until the store confirms it. When the session ends first, its end takes the claim along, and a request that is
// still under way finds no session.
awaitable<void> RemoteClaim::withdraw() {
  const bool held = std::exchange(state_, State::leaving) == State::held;
  // A release that overtakes its own downgrade would be for a claim that is about to change.
  while (downgrades_under_way_ > 0) co_await downgrade_answered_.wait(Time::max());
  Duration pause = std::chrono::milliseconds(10);
  for (;;) {
    if (session_over()) {
      const Error unknown{Errc::outcome_unknown, "the session ended before the store confirmed the release"};
      settle(withdrawal_unsettled_ ? unknown : Error{Errc::lost, "the session ended before the lock was released"});
      co_return;
    }
    const Deadline deadline = Deadline::in(runtime_.now(), attempt_time());
    Result<store::Withdrawn> answer = co_await answered(scheme_.withdraw(*claim_, withdrawal(), deadline));
    if (judge(answer)) break;
    co_await base::sleep_for(runtime_, pause);
    pause = std::min(pause * 2, attempt_time());
  }
  if (held || (!unsettled_ && !withdrawal_unsettled_)) co_return;
  base::tally(context_->telemetry.undone);
  context_->report(EventType::undone, wish_.key);
}

store::Withdrawal RemoteClaim::withdrawal() const {
  store::Withdrawal how;
  how.ending = ending_;
  how.unsettled = unsettled_;
  return how;
}

/// True: it is withdrawn.
bool RemoteClaim::judge(const Result<store::Withdrawn>& answer) {
  if (answer) {
    // "Not there" after a withdrawal that failed: it may have been applied before the store reported the error.
    const bool surprise = *answer == store::Withdrawn::not_there && !withdrawal_unsettled_;
    if (surprise) settle(Error{Errc::lost, "the lock had been taken away before it was released"});
    settle({});
    return true;
  }
  if (answer.code() != Errc::store_unavailable) withdrawal_unsettled_ = true;
  if (planted(Bug::release_not_repeated)) return true;
  if (answer.code() == Errc::lost) session_->end(session::loss::session_unknown);
  return false;
}

void RemoteClaim::end() {
  leaving_.reset();
  scheme_.unwatch(claim_->id);
  if (session_) session_->leave(membership_);
  session_.reset();
}

void RemoteClaim::fail(Error error) {
  wanted_ = false;
  if (listener_ != nullptr) std::exchange(listener_, nullptr)->claim_failed(std::move(error));
}

void RemoteClaim::settle(Result<void> result) {
  if (released_) return;
  released_ = std::move(result);
  for (const auto& settlement : std::exchange(settlements_, {})) settlement->settle(*released_);
}

store::Waker RemoteClaim::make_waker() {
  return [weak = weak_from_this(), id = claim_->id, executor = runtime_.executor()](const Notice& notice) {
    boost::asio::post(executor, [weak, id, notice] {
      const auto self = weak.lock();
      if (self && self->claim_ && self->claim_->id == id) self->notice(notice);
    });
  };
}

void RemoteClaim::notice(const Notice& notice) {
  switch (notice.what) {
    case Notice::What::look_again: break;
    case Notice::What::granted:
      if (state_ == State::asking) pushed_ = notice.grant;
      break;
    case Notice::What::contended:
      if (state_ == State::held && listener_ != nullptr) listener_->claim_contended();
      must_look_ = must_look_ || state_ == State::asking;  // it is granted, and we do not know it yet
      return;
    case Notice::What::release_requested:
      if (state_ == State::held && listener_ != nullptr) listener_->claim_release_requested();
      must_look_ = must_look_ || state_ == State::asking;
      return;
    case Notice::What::gone: must_look_ = true; break;  // the store knows: a notice may be old, or forged
  }
  stir();
}

// Not all at the same time: whoever spins beside us began when we did, when the same lock was let go.
Duration RemoteClaim::spin_once() {
  claim_->may_queue = runtime_.now() >= spin_until_;
  if (claim_->may_queue) return Duration::zero();
  spin_pause_ = std::clamp<Duration>(2 * spin_pause_, shortest_spin_pause, longest_spin_pause);
  const auto half = spin_pause_.count() / 2;
  return Duration(half + static_cast<std::int64_t>(runtime_.random() % static_cast<std::uint64_t>(half)));
}

void RemoteClaim::back_off() {
  if (planted(Bug::no_backoff)) return;
  backoff_ = std::min(std::max<Duration>(backoff_ * 2, std::chrono::milliseconds(10)), attempt_time());
}

Duration RemoteClaim::attempt_time() const { return std::min(context_->timeout, wish_.terms.lease / 3); }

void RemoteClaim::session_lost() { stir(); }

// Also while we ask: the change may be that it was granted and then asked back, and no answer to a claim tells that.
void RemoteClaim::session_changed() {
  must_look_ = true;
  stir();
}

// The holder is told within this call: the deadline that it goes by is about to move on. One that asks goes on asking.
void RemoteClaim::claim_unconfirmed() {
  if (state_ != State::held || taken_away_ != nullptr) return;
  taken_away_ = not_renewed_with_session;
  if (listener_ != nullptr) std::exchange(listener_, nullptr)->claim_lost(taken_away_);
  stir();
}

}  // namespace pawl::claim
