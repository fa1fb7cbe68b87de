#include "tests/support/faults.hpp"

#include <algorithm>

namespace pawl::test {

std::string_view to_string(Operation operation) noexcept {
  static constexpr std::array<std::string_view, operation_count> names = {
      "connect",   "open_session", "renew",   "close_session", "claim", "withdraw", "look",
      "downgrade", "relabel",      "inspect", "list",          "check", "revoke",   "epoch"};
  return names[static_cast<std::size_t>(operation)];
}

namespace {

bool take_one(std::multiset<Operation>& from, Operation operation) {
  const auto found = from.find(operation);
  if (found == from.end()) return false;
  from.erase(found);
  return true;
}

}  // namespace

void ScriptedFaults::cut() {
  std::lock_guard lock(mutex_);
  cut_ = true;
}

void ScriptedFaults::heal() {
  std::lock_guard lock(mutex_);
  cut_ = false;
}

void ScriptedFaults::refuse(bool on) {
  std::lock_guard lock(mutex_);
  refuse_ = on;
}

void ScriptedFaults::drop_replies(bool on) {
  std::lock_guard lock(mutex_);
  drop_replies_ = on;
}

void ScriptedFaults::drop_notices(bool on) {
  std::lock_guard lock(mutex_);
  drop_notices_ = on;
}

void ScriptedFaults::delay_all(Duration delay) {
  std::lock_guard lock(mutex_);
  delay_ = delay;
}

void ScriptedFaults::duplicate(bool on) {
  std::lock_guard lock(mutex_);
  duplicate_ = on;
}

void ScriptedFaults::lose_next_request(Operation operation) {
  std::lock_guard lock(mutex_);
  lost_requests_.insert(operation);
}

void ScriptedFaults::leave_out_of_next_renewal(store::ClaimId claim) {
  std::lock_guard lock(mutex_);
  unconfirmed_.push_back(claim);
}

std::vector<store::ClaimId> ScriptedFaults::take_unconfirmed() {
  std::lock_guard lock(mutex_);
  return std::exchange(unconfirmed_, {});
}

void ScriptedFaults::lose_next_reply(Operation operation) {
  std::lock_guard lock(mutex_);
  lost_replies_.insert(operation);
}

void ScriptedFaults::throw_next(Operation operation, bool applied, bool at_once) {
  std::lock_guard lock(mutex_);
  (applied ? thrown_after_ : thrown_).insert(operation);
  if (at_once) thrown_at_once_.insert(operation);
}

void ScriptedFaults::refuse_after_next(Operation operation) {
  std::lock_guard lock(mutex_);
  refused_after_.insert(operation);
}

std::size_t ScriptedFaults::count(Operation operation) const {
  std::lock_guard lock(mutex_);
  return counts_[static_cast<std::size_t>(operation)];
}

std::size_t ScriptedFaults::count(store::Notice::What what) const {
  std::lock_guard lock(mutex_);
  const auto found = notices_.find(what);
  return found == notices_.end() ? 0 : found->second;
}

RequestFault ScriptedFaults::next(Operation operation) {
  std::lock_guard lock(mutex_);
  ++counts_[static_cast<std::size_t>(operation)];
  RequestFault fault;
  fault.request_delay = delay_;
  if (duplicate_) fault.again_after = Duration::zero();
  if (cut_) {
    fault.loss = RequestFault::Loss::request;
  } else if (refuse_) {
    fault.loss = RequestFault::Loss::refuse;
  } else if (take_one(lost_requests_, operation)) {
    fault.loss = RequestFault::Loss::request;
  } else if (take_one(lost_replies_, operation) || drop_replies_) {
    fault.loss = RequestFault::Loss::reply;
  } else if (take_one(thrown_, operation)) {
    fault.loss = RequestFault::Loss::thrown;
  } else if (take_one(thrown_after_, operation)) {
    fault.loss = RequestFault::Loss::thrown_after;
  } else if (take_one(refused_after_, operation)) {
    fault.loss = RequestFault::Loss::refuse_after;
  }
  const bool thrown = fault.loss == RequestFault::Loss::thrown || fault.loss == RequestFault::Loss::thrown_after;
  fault.at_once = thrown && take_one(thrown_at_once_, operation);
  return fault;
}

NoticeFault ScriptedFaults::next_notice(const store::Notice& notice) {
  std::lock_guard lock(mutex_);
  NoticeFault fault;
  if (cut_ || drop_notices_) {
    fault.what = NoticeFault::What::drop;
  } else {
    ++notices_[notice.what];
  }
  return fault;
}

void RandomFaults::change(FaultRates rates) {
  std::lock_guard lock(mutex_);
  rates_ = rates;
}

FaultRates RandomFaults::rates() const {
  std::lock_guard lock(mutex_);
  return rates_;
}

RequestFault RandomFaults::next(Operation) {
  const FaultRates rates = this->rates();
  const bool refused = chance(rates.refuse), dropped = chance(rates.drop_request), thrown = chance(rates.thrown);
  const bool applied = chance(0.5), at_once = chance(0.5), unanswered = chance(rates.drop_reply);
  const bool late = chance(rates.request_delay), answered_late = chance(rates.reply_delay);
  const bool again = chance(rates.duplicate);
  const Duration request_delay = delay(rates), reply_delay = delay(rates), again_after = delay(rates);
  RequestFault fault;
  if (refused || dropped) {
    fault.loss = refused ? RequestFault::Loss::refuse : RequestFault::Loss::request;
    return fault;
  }
  if (thrown) {
    fault.loss = applied ? RequestFault::Loss::thrown_after : RequestFault::Loss::thrown;
    fault.at_once = at_once;
    return fault;
  }
  if (unanswered) fault.loss = RequestFault::Loss::reply;
  fault.request_delay = rates.latency + (late ? request_delay : Duration::zero());
  fault.reply_delay = rates.latency + (answered_late ? reply_delay : Duration::zero());
  if (again) fault.again_after = again_after;
  return fault;
}

NoticeFault RandomFaults::next_notice(const store::Notice&) {
  const FaultRates rates = this->rates();
  const bool dropped = chance(rates.drop_notice), late = chance(rates.delay_notice),
             twice = chance(rates.repeat_notice);
  NoticeFault fault;
  fault.delay = delay(rates);
  if (dropped) {
    fault.what = NoticeFault::What::drop;
  } else if (late) {
    fault.what = NoticeFault::What::delay;
  } else if (twice) {
    fault.what = NoticeFault::What::twice;
  }
  return fault;
}

bool RandomFaults::chance(double rate) { return static_cast<double>(random_() >> 11) * 0x1p-53 < rate; }

// Short ones are common, and every length up to the longest happens: a uniform choice would hardly ever be short.
Duration RandomFaults::delay(const FaultRates& rates) {
  const std::uint64_t bits = random_();
  const auto longest = static_cast<std::uint64_t>(std::max<Duration::rep>(rates.longest_delay.count(), 1));
  const std::uint64_t cap = std::max<std::uint64_t>(longest >> (bits % 16), 1);
  return Duration(static_cast<Duration::rep>((bits >> 4) % cap));
}

}  // namespace pawl::test
