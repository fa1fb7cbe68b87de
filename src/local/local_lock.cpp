#include "local/local_lock.hpp"

#include "base/duration.hpp"
#include "base/escaped.hpp"
#include "base/on_stop.hpp"
#include "base/planted.hpp"
#include "local/obstacle.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace pawl::local {

using base::Bug;
using base::planted;

namespace {

constexpr std::uint32_t most_subs = std::numeric_limits<std::uint16_t>::max();

}  // namespace

struct LocalLock::Waiter {
  Waiter(Runtime& runtime, const Request& what, Deadline until) : request(what), deadline(until), wakeup(runtime) {}

  bool tries() const { return request.wait == Duration::zero(); }

  const Request request;
  const Deadline deadline;
  base::Wakeup wakeup;
  std::shared_ptr<LocalHold> hold = {};
  std::optional<Error> error = {};
  bool cancelled = false;

  void refuse(Error why) {
    error = std::move(why);
    wakeup.notify();
  }
};

namespace {

auto find(const std::vector<std::shared_ptr<LocalHold>>& holds, const LocalHold& hold) {
  return std::find_if(holds.begin(), holds.end(), [&](const auto& one) { return one.get() == &hold; });
}

}  // namespace

LocalLock::LocalLock(std::shared_ptr<session::Context> context, std::shared_ptr<session::Keeper> keeper,
                     store::Scheme& scheme, store::LockKey key, PassBounds bounds)
    : context_(std::move(context)),
      runtime_(context_->runtime),
      keeper_(std::move(keeper)),
      scheme_(scheme),
      key_(std::move(key)),
      bounds_(bounds) {}

LocalLock::~LocalLock() {
  if (remote_ && !runtime_.inert()) base::or_out_of_memory([this] { remote_->give_up(); });
}

const std::shared_ptr<LocalHold>& LocalLock::granted(const Place& place) { return place->hold; }

Result<LocalLock::Place> LocalLock::queue_up(const Request& request, const std::stop_token& stop, Deadline deadline) {
  if (closed_) return Error{Errc::closed, "the client is closed"};
  if (stop.stop_requested()) return Error{Errc::cancelled, "the wait was cancelled"};
  const auto waiter = std::make_shared<Waiter>(runtime_, request, deadline);
  const bool comes_in = queue_.empty() && may_come_in(request);
  if (waiter->tries() && !idle() && !comes_in) return Error{Errc::busy, key_.name.quoted() + " " + who_holds()};
  if (planted(Bug::local_lifo)) {
    queue_.push_front(waiter);
  } else {
    queue_.push_back(waiter);
  }
  if (comes_in) {
    if (contended_since_ != Time::max()) ++passes_;
    hand_over(waiter);
  }
  if (!remote_) claim_for_head();
  if (waiter->hold) context_->telemetry.wait.add(Duration::zero());
  return waiter;
}

awaitable<Result<std::shared_ptr<LocalHold>>> LocalLock::acquire(Request request, std::stop_token stop, Place place) {
  const auto self = shared_from_this();
  const Time began = runtime_.now();
  // A wait that has begun before this coroutine did is not begun anew.
  const Deadline deadline = place ? place->deadline : deadline_of(request);
  for (;;) {
    if (!place) {
      Result<Place> queued = queue_up(request, stop, deadline);
      if (!queued) co_return queued.error();
      place = std::move(*queued);
      if (place->hold) co_return place->hold;
    }
    Result<std::shared_ptr<LocalHold>> hold = co_await wait(place, stop);
    if (!hold) co_return hold;
    const Time now = runtime_.now();
    if ((*hold)->remaining(now) > Duration::zero()) {
      context_->telemetry.wait.add(now - began);
      co_return hold;
    }
    // Lost before the caller could be told (a long pause): as if it had never been granted.
    (*hold)->lose("its time was over before the caller was told");
    if (deadline.passed(now)) co_return Error{Errc::timed_out, after_waiting(request)};
    place.reset();
  }
}

awaitable<Result<std::shared_ptr<LocalHold>>> LocalLock::wait(Place waiter, std::stop_token stop) {
  const std::function<void()> cancel = [waiter] {
    waiter->cancelled = true;
    waiter->wakeup.notify();
  };
  const base::OnStop on_stop(runtime_, stop, cancel);
  co_await waiter->wakeup.wait(waiter->deadline.at);
  co_return outcome(waiter);
}

void LocalLock::wait_without_coroutine(const Place& place, Outcome then) {
  const Time began = runtime_.now();
  auto woken = [self = shared_from_this(), place, began, then = std::move(then)](base::Woke) {
    place->wakeup.notify();  // whoever finds that the hold is over already waits again, and must not wait
    if (place->hold) self->context_->telemetry.wait.add(self->runtime_.now() - began);
    then(self->outcome(place));
  };
  place->wakeup.wait_with(base::Resumption(std::move(woken)), place->deadline.at);
}

Result<std::shared_ptr<LocalHold>> LocalLock::outcome(const Place& waiter) {
  if (waiter->hold) return waiter->hold;
  if (waiter->error) return *waiter->error;
  return give_up(waiter);
}

Deadline LocalLock::deadline_of(const Request& request) const {
  if (!request.wait) return Deadline::never();
  // A try: the store is slow, and that is not "busy".
  if (*request.wait == Duration::zero()) return Deadline::in(runtime_.now(), context_->patience());
  return Deadline::in(runtime_.now(), *request.wait);
}

Result<std::shared_ptr<LocalHold>> LocalLock::give_up(const Place& waiter) {
  Error why{Errc::timed_out, after_waiting(waiter->request)};
  if (waiter->tries()) why = Error{Errc::store_unavailable, "the store did not answer in time"};
  const std::string trouble = remote_ ? remote_->trouble() : "";
  if (!trouble.empty()) why.message += ": " + trouble;
  if (waiter->cancelled) why = Error{Errc::cancelled, "the wait for " + key_.name.quoted() + " was cancelled"};
  const bool was_head = queue_.front() == waiter;
  std::erase(queue_, waiter);
  if (was_head && validity_) let_in_beside();
  if (!was_head || !remote_ || validity_) return why;
  const bool of_use = !queue_.empty() && queue_.front()->request.terms == remote_->terms() && remote_->may_queue();
  if (of_use) return why;
  if (remote_->unsettled())
    why.message += "; the store has not confirmed yet that the claim is withdrawn, pawl goes on";
  std::exchange(remote_, nullptr)->give_up();
  claim_for_head();
  return why;
}

void LocalLock::claim_for_head() {
  if (queue_.empty() || closed_) return;
  const Waiter& head = *queue_.front();
  claim::RemoteClaim::Wish wish{key_, head.request.terms};
  wish.may_queue = !head.tries();
  wish.label = head.request.label;
  wish.value = head.request.value;
  wish.spin = head.request.spin;
  validity_.reset();
  slots_.clear();
  failed_ = downgrading_ = false;
  subs_ = passes_ = 0;
  contended_since_ = Time::max();
  release_requested_ = false;
  remote_ = std::make_shared<claim::RemoteClaim>(context_, keeper_, scheme_, std::move(wish),
                                                 static_cast<claim::Listener&>(*this));
  remote_->start();
}

void LocalLock::claim_granted(const store::Granted& granted, std::shared_ptr<session::Validity> validity) {
  token_ = granted.token;
  slots_ = granted.slots;
  validity_ = std::move(validity);
  if (granted.contended || !scheme_.capabilities().knows_contention) contended_since_ = runtime_.now();
  const Place head = queue_.front();
  hand_over(head);
  admit_from_queue();
}

void LocalLock::hand_over(const Place& waiter) {
  std::erase(queue_, waiter);
  const std::uint32_t sub = planted(Bug::one_token_for_all) ? 0 : subs_;
  ++subs_;
  LocalHold::Terms terms{key_, token_.with_sub(static_cast<std::uint16_t>(sub))};
  terms.mode = remote_->terms().mode;
  terms.slots = slots_;
  terms.max_hold = waiter->request.max_hold;
  terms.label = waiter->request.label;
  const auto hold = std::make_shared<LocalHold>(context_, validity_, std::move(terms));
  current_.push_back(hold);
  remote_->relabel(waiter->request.label);
  hold->start(weak_from_this(), [weak = weak_from_this()](const std::shared_ptr<LocalHold>& lost) {
    const auto self = weak.lock();
    if (!self || self->runtime_.inert()) return;
    self->runtime_.send([self, lost] { self->hold_ended(*lost, store::Ending::failed, nullptr); });
  });
  waiter->hold = hold;
  waiter->wakeup.notify();
}

/// Those at the head who want to share what is shared already come in together.
void LocalLock::admit_from_queue() {
  if (remote_->terms().mode != Mode::shared) return;
  while (!queue_.empty() && queue_.front()->request.terms == remote_->terms() && subs_ <= most_subs) {
    const Place next = queue_.front();
    hand_over(next);
  }
}

/// Nobody stands before them any more, or the lock is shared now: readers come in as if they asked now.
void LocalLock::let_in_beside() {
  while (!queue_.empty() && may_come_in(queue_.front()->request)) {
    if (contended_since_ != Time::max()) ++passes_;
    const Place next = queue_.front();
    hand_over(next);
  }
}

bool LocalLock::full_of_readers(const Request& request) const {
  const bool shared = remote_ && validity_ && !current_.empty() && remote_->terms().mode == Mode::shared;
  return shared && request.terms.mode == Mode::shared && queue_.empty() && !may_come_in(request);
}

bool LocalLock::may_come_in(const Request& request) const {
  const bool shared = remote_ && validity_ && !current_.empty() && remote_->terms().mode == Mode::shared;
  return shared && request.terms == remote_->terms() && within_bounds();
}

awaitable<Result<void>> LocalLock::release(std::shared_ptr<LocalHold> hold) {
  const auto settlement = std::make_shared<Settlement>(runtime_);
  send_release(hold, settlement);
  co_return co_await settled(settlement);
}

void LocalLock::send_release(const std::shared_ptr<LocalHold>& hold, std::shared_ptr<Settlement> settlement) {
  hold_ended(*hold, store::Ending::clean, std::move(settlement));
}

awaitable<Result<void>> LocalLock::settled(std::shared_ptr<Settlement> settlement) {
  const auto self = shared_from_this();
  if (!settlement->outcome) co_await settlement->wakeup.wait(base::after(runtime_.now(), context_->patience()));
  co_return outcome(*settlement);
}

void LocalLock::wait_without_coroutine(const std::shared_ptr<Settlement>& settlement,
                                       std::function<void(Result<void>)> then) {
  auto woken = [self = shared_from_this(), settlement, then = std::move(then)](base::Woke) {
    then(self->outcome(*settlement));
  };
  settlement->wakeup.wait_with(base::Resumption(std::move(woken)), base::after(runtime_.now(), context_->patience()));
}

Result<void> LocalLock::outcome(const Settlement& settlement) const {
  if (settlement.outcome) return *settlement.outcome;
  return Error{Errc::outcome_unknown,
               "the store has not confirmed the release of " + key_.name.quoted() + "; pawl goes on releasing it"};
}

void LocalLock::hold_ended(const LocalHold& hold, store::Ending ending, std::shared_ptr<Settlement> settlement) {
  const auto found = find(current_, hold);
  if (found == current_.end()) {
    if (!settlement) return;
    // Released in time, and close() came first with the word to the store.
    if (hold.released() && find(closed_with_.holds, hold) != closed_with_.holds.end()) {
      return closed_with_.remote->report_release_to(std::move(settlement));
    }
    return settlement->settle(hold.lost_before_release());
  }
  current_.erase(found);
  if (planted(Bug::sharer_releases_all)) current_.clear();
  failed_ = failed_ || ending == store::Ending::failed;
  if (!current_.empty()) {  // the others go on sharing it
    if (settlement) settlement->settle({});
    return;
  }
  if (failed_) ending = store::Ending::failed;
  const bool lock_delay = failed_ && remote_->terms().lock_delay > Duration::zero();
  if (!lock_delay && may_pass()) {
    if (settlement) settlement->settle({});
    ++passes_;
    base::tally(context_->telemetry.local_passes);
    const Place head = queue_.front();
    failed_ = false;
    hand_over(head);
    return admit_from_queue();
  }
  std::exchange(remote_, nullptr)->let_go(ending, std::move(settlement));
  claim_for_head();
}

bool LocalLock::may_pass() const {
  if (queue_.empty() || queue_.front()->request.terms != remote_->terms() || queue_.front()->tries()) return false;
  // The store may share it already, and we do not know it yet: whoever has it next must not think that he is alone.
  if (downgrading_ && remote_->terms().mode == Mode::exclusive) return false;
  return within_bounds();
}

bool LocalLock::within_bounds() const {
  if (!validity_->valid()) return false;
  if (bounds_.passes == 0 || (release_requested_ && !planted(Bug::asked_back_is_passed))) return false;
  if (subs_ > most_subs) return false;
  if (contended_since_ == Time::max() || planted(Bug::unbounded_passes)) return true;
  return passes_ < bounds_.passes && runtime_.now() - contended_since_ < bounds_.time;
}

void LocalLock::claim_failed(Error error) {
  const bool busy = error.code == Errc::busy;
  if (busy) error.message = key_.name.quoted() + " " + who_holds();
  const claim::Terms terms = remote_->terms();
  remote_.reset();
  // Busy is the answer to one try. Any other error would be the same for all who ask for the same thing.
  std::deque<Place> refused;
  while (!queue_.empty() && queue_.front()->request.terms == terms && (refused.empty() || !busy)) {
    refused.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  for (const Place& waiter : refused) waiter->refuse(error);
  claim_for_head();
}

void LocalLock::claim_contended() {
  if (contended_since_ != Time::max()) return;
  contended_since_ = runtime_.now();
  passes_ = 0;
}

void LocalLock::claim_release_requested() {
  release_requested_ = true;
  for (const auto& hold : current_) hold->ask_for_release();
}

void LocalLock::claim_lost(const char* why) {
  remote_.reset();
  for (const auto& hold : std::exchange(current_, {})) hold->lose(why);
  claim_for_head();
}

namespace {

using Task = session::Context::Task;

// The next holder comes after that: losses are told in the order in which they were reported. As in LocalHold::lose(), it does
// not wait for ever for users' code.
awaitable<void> let_go_when_told(std::shared_ptr<session::Context> context, [[maybe_unused]] std::shared_ptr<Task> task,
                                 std::shared_ptr<claim::RemoteClaim> remote, store::Ending ending) {
  const auto told = std::make_shared<base::Wakeup>(context->runtime);
  context->runtime.notify(
      [told, executor = context->runtime.executor()] { boost::asio::post(executor, [told] { told->notify(); }); });
  co_await told->wait(base::after(context->runtime.now(), LocalHold::longest_callback));
  remote->let_go(ending, nullptr);
}

}  // namespace

void LocalLock::close() {
  if (planted(Bug::close_keeps_waiters)) {
    for (const auto& hold : current_) hold->lose(session::loss::client_closed);
    return;
  }
  if (std::exchange(closed_, true)) return;
  const std::deque<Place> waiters = std::exchange(queue_, {});
  for (const Place& waiter : waiters) waiter->refuse(Error{Errc::closed, "the client was closed"});
  bool lost = failed_;
  closed_with_ = {std::exchange(remote_, nullptr), std::exchange(current_, {})};
  for (const auto& hold : closed_with_.holds) {
    hold->lose(session::loss::client_closed);
    // It may have been let go just before, and the word is still on its way to us.
    lost = lost || hold->state() == HoldState::lost;
  }
  const std::shared_ptr<claim::RemoteClaim>& remote = closed_with_.remote;
  if (!remote) return;
  if (!lost) return remote->let_go(store::Ending::clean, nullptr);
  base::spawn(runtime_, let_go_when_told(context_, std::make_shared<Task>(*context_), remote, store::Ending::failed));
}

awaitable<Result<void>> LocalLock::downgrade(std::shared_ptr<LocalHold> hold) {
  const auto self = shared_from_this();
  const bool ours = std::find(current_.begin(), current_.end(), hold) != current_.end();
  if (!ours || hold->remaining() <= Duration::zero()) co_return Error{Errc::lost, "the hold was lost before"};
  const auto remote = remote_;
  if (remote->terms().mode == Mode::shared) co_return Result<void>();
  if (planted(Bug::downgrade_says_lost)) co_return Error{Errc::lost, "so it is said"};
  downgrading_ = true;
  if (!planted(Bug::downgrade_unseen))
    hold->share();  // from here on others may read, also if it fails: an earlier attempt may arrive late
  const Deadline deadline = Deadline::in(runtime_.now(), context_->patience());
  Result<void> done = co_await remote->downgrade(deadline);
  if (done && remote_ == remote) let_in_beside();
  co_return done;
}

std::string LocalLock::who_holds() const {
  if (!current_.empty()) return describe_own_hold(key_.kind);
  if (!remote_) return describe_obstacle(key_.kind, 0, {});
  return describe_obstacle(key_.kind, remote_->terms().permits.of, remote_->seen());
}

std::string LocalLock::after_waiting(const Request& request) const {
  const std::string wait = base::format_duration(request.wait.value_or(Duration::zero()));
  const std::string late = key_.name.quoted() + " was not granted within " + wait;
  const bool taken = !current_.empty() || (remote_ && remote_->must_wait());
  if (taken) return late + ": it " + who_holds();
  // Nobody has said that it is taken: whatever the store said last follows.
  return remote_ && !remote_->trouble().empty() ? late : late + ": the store did not answer in time";
}

}  // namespace pawl::local
