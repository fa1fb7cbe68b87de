#include "tests/support/faulty_store.hpp"

#include "base/wakeup.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace pawl::test {

using base::awaitable;
using base::Deadline;
using base::Runtime;
using base::Time;
using store::Capabilities;
using store::Claim;
using store::ClaimId;
using store::ClaimState;
using store::LockKey;
using store::Notice;
using store::Renewal;
using store::Scheme;
using store::SessionGrant;
using store::SessionId;
using store::SessionRequest;
using store::Standing;
using store::Waker;
using store::Withdrawal;
using store::Withdrawn;
using Loss = RequestFault::Loss;

namespace {

Error unanswered(Operation operation) {
  return {Errc::outcome_unknown, std::string(to_string(operation)) + ": no answer from the store in time"};
}

[[noreturn]] void no_thread_left() {
  throw std::system_error(EAGAIN, std::generic_category(), "no thread can be started, by order of a test");
}

// Whoever sends a withdrawal again because no answer has come knows that the first copy may have done it.
template <class T>
Result<T> answer_of_both(const Result<T>&, Result<T> second) {
  return second;
}
template <>
Result<Withdrawn> answer_of_both(const Result<Withdrawn>& first, Result<Withdrawn> second) {
  return first && second ? first : second;
}

Error refused(Operation operation) {
  return {Errc::store_unavailable, std::string(to_string(operation)) + ": the store refuses, by order of a test"};
}

}  // namespace

/// One claim's waker, until unwatch().
struct Watch {
  explicit Watch(Waker to) : waker(std::move(to)) {}
  void deliver(const Notice& notice) const {
    if (live) waker(notice);
  }
  const Waker waker;
  std::atomic<bool> live{true};
};

/// What lives as long as anything is under way.
class FaultyStore::Wire {
 public:
  /// A request that can be applied any number of times.
  template <class T>
  using Request = std::function<awaitable<Result<T>>(Deadline)>;

  Wire(std::shared_ptr<Store> store, Runtime& of_client, std::shared_ptr<FaultPlan> of_faults, Runtime& of_network)
      : inner(std::move(store)), client(of_client), plan(std::move(of_faults)), network(of_network) {}

  template <class T>
  static awaitable<Result<T>> send(std::shared_ptr<Wire> wire, Operation operation, Request<T> request,
                                   Deadline deadline) {
    const RequestFault fault = wire->next(operation);
    if (fault.loss == Loss::refuse) co_return refused(operation);
    if (fault.loss == Loss::thrown) no_thread_left();
    if (fault.loss == Loss::thrown_after) {
      [[maybe_unused]] Result<T> answer = co_await request(deadline);
      no_thread_left();
    }
    if (fault.loss == Loss::refuse_after) {
      [[maybe_unused]] Result<T> answer = co_await request(deadline);
      co_return Error{Errc::permission_denied,
                      std::string(to_string(operation)) + ": refused half-way, by order of a test"};
    }
    if (is_clean(fault)) {
      Result<T> answer = co_await request(deadline);
      co_return answer;
    }
    const auto call = std::make_shared<Call<T>>(wire->client);
    if (fault.loss != Loss::request) base::spawn(wire->network, carry<T>(wire, call, fault, request, deadline));
    co_await call->wakeup.wait(deadline.at);
    if (!call->answer) co_return unanswered(operation);
    co_return std::move(*call->answer);
  }

  /// A request that is answered at once cannot be lost or late. If the plan has something in store for it, it keeps that
  /// for the request that will be sent the other way.
  template <class T>
  std::optional<Result<T>> send_now(Operation operation, const std::function<std::optional<Result<T>>()>& request) {
    const RequestFault fault = next(operation);
    if (fault.at_once && fault.loss == Loss::thrown) no_thread_left();
    std::optional<Result<T>> answer;
    if (is_clean(fault) || fault.at_once) answer = request();
    if (answer && fault.at_once) no_thread_left();
    if (!answer) kept_.emplace_back(operation, fault);
    return answer;
  }

  void tell(const std::shared_ptr<Watch>& watch, const Notice& notice);

  void opened(SessionId session) {
    std::lock_guard lock(mutex_);
    sessions_.insert(session);
  }
  void ended(SessionId session) {
    std::lock_guard lock(mutex_);
    sessions_.erase(session);
  }
  std::vector<SessionId> sessions() const {
    std::lock_guard lock(mutex_);
    return {sessions_.begin(), sessions_.end()};
  }

  const std::shared_ptr<Store> inner;
  Runtime& client;
  const std::shared_ptr<FaultPlan> plan;
  Runtime& network;

 private:
  /// Where a caller waits for its answer.
  template <class T>
  struct Call {
    explicit Call(Runtime& runtime) : wakeup(runtime) {}
    base::Wakeup wakeup;
    std::optional<Result<T>> answer = {};
  };

  static bool is_clean(const RequestFault& fault) {
    return fault.loss == Loss::none && fault.request_delay <= Duration::zero() &&
           fault.reply_delay <= Duration::zero() && !fault.again_after;
  }

  /// The way of one request, on the network: nobody waits for the end of it.
  template <class T>
  static awaitable<void> carry(std::shared_ptr<Wire> wire, std::shared_ptr<Call<T>> call, RequestFault fault,
                               Request<T> request, Deadline deadline) {
    // A request that arrives late is served like any other: the store knows nothing of the caller's deadline.
    const Duration patience = deadline.at == Time::max() ? Duration::max() : deadline.at - wire->client.now();
    co_await pause(wire->network, fault.request_delay);
    Deadline serving = Deadline::in(wire->network.now(), patience);
    Result<T> answer = co_await request(serving);
    if (fault.again_after) {
      co_await pause(wire->network, *fault.again_after);
      serving = Deadline::in(wire->network.now(), patience);
      Result<T> second = co_await request(serving);
      answer = answer_of_both(answer, std::move(second));
    }
    if (fault.loss == Loss::reply) co_return;
    co_await pause(wire->network, fault.reply_delay);
    call->answer.emplace(std::move(answer));
    call->wakeup.notify();
  }

  static awaitable<void> pause(Runtime& network, Duration delay) {
    if (delay > Duration::zero()) co_await base::sleep_for(network, delay);
  }

  RequestFault next(Operation operation) {
    const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one.first == operation; });
    if (kept == kept_.end()) return plan->next(operation);
    const RequestFault fault = kept->second;
    kept_.erase(kept);
    return fault;
  }

  std::vector<std::pair<Operation, RequestFault>> kept_;
  mutable std::mutex mutex_;  // guards the sessions: a test's thread reads them
  std::set<SessionId> sessions_;
};

namespace {

awaitable<void> deliver_later(Runtime& network, std::shared_ptr<Watch> watch, Notice notice, Duration delay) {
  co_await base::sleep_for(network, delay);
  watch->deliver(notice);
}

}  // namespace

// Called from any thread, so a notice that is to come later must first get to the network's executor.
void FaultyStore::Wire::tell(const std::shared_ptr<Watch>& watch, const Notice& notice) {
  const NoticeFault fault = plan->next_notice(notice);
  const bool now = fault.what == NoticeFault::What::deliver || fault.what == NoticeFault::What::twice;
  const bool later = fault.what == NoticeFault::What::delay || fault.what == NoticeFault::What::twice;
  if (now) watch->deliver(notice);
  if (!later) return;
  boost::asio::post(network.executor(), [&on = network, watch, notice, delay = fault.delay] {
    base::spawn(on, deliver_later(on, watch, notice, delay));
  });
}

class FaultyStore::FaultyScheme final : public Scheme {
 public:
  FaultyScheme(std::shared_ptr<Wire> wire, Scheme& inner) : wire_(std::move(wire)), inner_(inner) {}
  ~FaultyScheme() override {
    for (const auto& [claim, watch] : watches_) {
      watch->live = false;
      inner_.unwatch(claim);
    }
  }

  const Scheme* wrapped() const { return &inner_; }
  const Capabilities& capabilities() const override { return inner_.capabilities(); }

  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override {
    return send<ClaimState>(Operation::claim, deadline,
                            [inner = &inner_, claim](Deadline until) { return inner->claim(claim, until); });
  }
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override {
    return send<Withdrawn>(Operation::withdraw, deadline, [inner = &inner_, claim, how](Deadline until) {
      return inner->withdraw(claim, how, until);
    });
  }
  std::optional<Result<ClaimState>> claim_now(const Claim& claim) override {
    return wire_->send_now<ClaimState>(Operation::claim, [&] { return inner_.claim_now(claim); });
  }
  std::optional<Result<Withdrawn>> withdraw_now(const Claim& claim, Withdrawal how) override {
    return wire_->send_now<Withdrawn>(Operation::withdraw, [&] { return inner_.withdraw_now(claim, how); });
  }
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override {
    return send<Standing>(Operation::look, deadline,
                          [inner = &inner_, claim](Deadline until) { return inner->look(claim, until); });
  }
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override {
    return send<void>(Operation::downgrade, deadline,
                      [inner = &inner_, claim](Deadline until) { return inner->downgrade(claim, until); });
  }
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override {
    return send<void>(Operation::relabel, deadline,
                      [inner = &inner_, claim](Deadline until) { return inner->relabel(claim, until); });
  }
  bool waits_for(Kind ours, Kind other, Mode mode) const override { return inner_.waits_for(ours, other, mode); }
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override {
    return send<LockView>(Operation::inspect, deadline,
                          [inner = &inner_, key](Deadline until) { return inner->inspect(key, until); });
  }
  awaitable<Result<store::Succession>> succession(LockKey key, Token after, Deadline deadline) override {
    return send<store::Succession>(Operation::inspect, deadline, [inner = &inner_, key, after](Deadline until) {
      return inner->succession(key, after, until);
    });
  }
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override {
    return send<std::vector<LockView>>(
        Operation::list, deadline, [inner = &inner_, prefix](Deadline until) { return inner->list(prefix, until); });
  }
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override {
    return send<bool>(Operation::check, deadline,
                      [inner = &inner_, key, token](Deadline until) { return inner->check(key, token, until); });
  }
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override {
    return send<bool>(Operation::revoke, deadline, [inner = &inner_, key, claim, now](Deadline until) {
      return inner->revoke(key, claim, now, until);
    });
  }

  void watch(ClaimId claim, Waker waker) override {
    const auto watch = std::make_shared<Watch>(std::move(waker));
    watches_.insert_or_assign(claim, watch);
    inner_.watch(claim, [weak = std::weak_ptr<Wire>(wire_), watch](const Notice& notice) {
      if (const auto wire = weak.lock()) wire->tell(watch, notice);
    });
  }
  void unwatch(ClaimId claim) override {
    inner_.unwatch(claim);
    const auto found = watches_.find(claim);
    if (found == watches_.end()) return;
    found->second->live = false;
    watches_.erase(found);
  }

 private:
  template <class T>
  awaitable<Result<T>> send(Operation operation, Deadline deadline, Wire::Request<T> request) {
    return Wire::send<T>(wire_, operation, std::move(request), deadline);
  }

  const std::shared_ptr<Wire> wire_;  // and with it the inner store, whose part inner_ is
  Scheme& inner_;
  std::map<ClaimId, std::shared_ptr<Watch>> watches_;
};

FaultyStore::FaultyStore(std::shared_ptr<Store> inner, Runtime& client, std::shared_ptr<FaultPlan> plan,
                         Runtime& network)
    : wire_(std::make_shared<Wire>(std::move(inner), client, std::move(plan), network)) {}

FaultyStore::~FaultyStore() = default;

void FaultyStore::attach(store::Surroundings surroundings) {
  sessions_in_doubt_ = surroundings.sessions_in_doubt;
  wire_->inner->attach(std::move(surroundings));
}

void FaultyStore::doubt_sessions() const {
  if (sessions_in_doubt_) sessions_in_doubt_();
}

awaitable<Result<void>> FaultyStore::connect(Deadline deadline) {
  Wire::Request<void> request = [store = wire_->inner](Deadline until) { return store->connect(until); };
  return Wire::send<void>(wire_, Operation::connect, std::move(request), deadline);
}

std::uint64_t FaultyStore::id() const { return wire_->inner->id(); }

namespace {

// The three that keep the list of sessions right, also for requests whose caller has gone.

template <class Wire>
awaitable<Result<SessionGrant>> open_at(std::shared_ptr<Wire> wire, SessionRequest request, Deadline deadline) {
  Result<SessionGrant> grant = co_await wire->inner->open_session(request, deadline);
  if (grant) wire->opened(grant->id);
  co_return grant;
}

template <class Wire>
awaitable<Result<Renewal>> renew_at(std::shared_ptr<Wire> wire, SessionId session, Deadline deadline) {
  Result<Renewal> renewal = co_await wire->inner->renew(session, deadline);
  if (renewal.code() == Errc::lost) wire->ended(session);
  const std::vector<ClaimId> unconfirmed = wire->plan->take_unconfirmed();
  if (renewal) renewal->unconfirmed.insert(renewal->unconfirmed.end(), unconfirmed.begin(), unconfirmed.end());
  co_return renewal;
}

template <class Wire>
awaitable<Result<void>> close_at(std::shared_ptr<Wire> wire, SessionId session, Deadline deadline) {
  Result<void> closed = co_await wire->inner->close_session(session, deadline);
  if (closed) wire->ended(session);
  co_return closed;
}

}  // namespace

awaitable<Result<SessionGrant>> FaultyStore::open_session(SessionRequest request, Deadline deadline) {
  Wire::Request<SessionGrant> call = [wire = wire_, request](Deadline until) { return open_at(wire, request, until); };
  return Wire::send<SessionGrant>(wire_, Operation::open_session, std::move(call), deadline);
}

awaitable<Result<Renewal>> FaultyStore::renew(SessionId session, Deadline deadline) {
  Wire::Request<Renewal> call = [wire = wire_, session](Deadline until) { return renew_at(wire, session, until); };
  return Wire::send<Renewal>(wire_, Operation::renew, std::move(call), deadline);
}

awaitable<Result<void>> FaultyStore::close_session(SessionId session, Deadline deadline) {
  Wire::Request<void> call = [wire = wire_, session](Deadline until) { return close_at(wire, session, until); };
  return Wire::send<void>(wire_, Operation::close_session, std::move(call), deadline);
}

awaitable<Result<std::uint64_t>> FaultyStore::epoch(Deadline deadline) {
  Wire::Request<std::uint64_t> call = [store = wire_->inner](Deadline until) { return store->epoch(until); };
  return Wire::send<std::uint64_t>(wire_, Operation::epoch, std::move(call), deadline);
}

awaitable<Result<std::uint64_t>> FaultyStore::raise_epoch(Deadline deadline) {
  Wire::Request<std::uint64_t> call = [store = wire_->inner](Deadline until) { return store->raise_epoch(until); };
  return Wire::send<std::uint64_t>(wire_, Operation::epoch, std::move(call), deadline);
}

Scheme* FaultyStore::scheme(std::string_view name) {
  Scheme* inner = wire_->inner->scheme(name);
  if (inner == nullptr) return nullptr;
  for (const auto& known : schemes_) {
    if (known->wrapped() == inner) return known.get();
  }
  return schemes_.emplace_back(std::make_unique<FaultyScheme>(wire_, *inner)).get();
}

std::vector<const Capabilities*> FaultyStore::schemes() const { return wire_->inner->schemes(); }

std::vector<SessionId> FaultyStore::sessions() const { return wire_->sessions(); }

awaitable<void> FaultyStore::expire_sessions() {
  const std::shared_ptr<Wire> wire = wire_;
  for (const SessionId session : wire->sessions()) {
    const Deadline deadline = Deadline::in(wire->client.now(), std::chrono::minutes(1));
    [[maybe_unused]] Result<void> closed = co_await close_at(wire, session, deadline);
  }
}

}  // namespace pawl::test
