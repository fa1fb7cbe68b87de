#include "lock/settings.hpp"

#include "base/duration.hpp"

#include <utility>

namespace pawl::lock {

namespace {

using base::format_duration;

Result<void> invalid(std::string sentence) { return Error{Errc::invalid_argument, std::move(sentence)}; }

Result<void> check_lease(Duration lease, const store::Capabilities& can) {
  if (lease >= can.shortest_lease && lease <= can.longest_lease) return {};
  return invalid("lease is " + format_duration(lease) + "; " + std::string(can.store) + "/" + std::string(can.scheme) +
                 " takes " + format_duration(can.shortest_lease) + " to " + format_duration(can.longest_lease));
}

Result<void> check_lock_delay(Duration delay, const store::Capabilities& can) {
  if (delay < Duration::zero() || delay > longest_lock_delay) {
    return invalid("lock_delay is " + format_duration(delay) + "; it must be between 0 and 60s");
  }
  if (delay == Duration::zero() || can.lock_delay) return {};
  return Error{Errc::unsupported, std::string(can.store) + "/" + std::string(can.scheme) + " has no lock-delay"};
}

Result<void> check(const local::Request& request, const store::Capabilities& can) {
  if (request.wait && *request.wait < Duration::zero()) {
    return invalid("wait is negative; leave it unset to wait for ever, or set 0 to try once");
  }
  if (request.max_hold && *request.max_hold <= Duration::zero()) {
    return invalid("max_hold must be above 0; leave it unset for no bound");
  }
  if (request.label.size() > 256) return invalid("a label can have 256 bytes at the most");
  if (request.value.size() > 4096) return invalid("a candidate's value can have 4096 bytes at the most");
  if (auto lease = check_lease(request.terms.lease, can); !lease) return lease;
  return check_lock_delay(request.terms.lock_delay, can);
}

}  // namespace

Defaults Defaults::over(const Defaults& below) const {
  Defaults both = *this;
  if (!both.lease) both.lease = below.lease;
  if (!both.lock_delay) both.lock_delay = below.lock_delay;
  if (!both.max_hold) both.max_hold = below.max_hold;
  if (both.label.empty()) both.label = below.label;
  return both;
}

Result<void> check_kind(Kind kind, const store::Capabilities& can) {
  const bool has = kind == Kind::mutex || (kind == Kind::rw && can.shared_mode) ||
                   (kind == Kind::permits && can.permits) || (kind == Kind::election && can.election);
  if (has) return {};
  return Error{Errc::unsupported,
               std::string(can.store) + "/" + std::string(can.scheme) + " has no " + std::string(to_string(kind))};
}

Result<local::Request> make_request(const AcquireOptions& options, const Wanted& wanted, const Defaults& defaults,
                                    const store::Capabilities& capabilities) {
  const Defaults own{options.lease, options.lock_delay, options.max_hold, std::string(options.label)};
  const Defaults all = own.over(defaults);
  local::Request request;
  request.terms.lease = all.lease.value_or(default_lease);
  request.terms.lock_delay = all.lock_delay.value_or(Duration::zero());
  request.terms.mode = wanted.mode;
  request.terms.permits = wanted.permits;
  request.value = wanted.value;
  request.wait = options.wait;
  request.max_hold = all.max_hold;
  request.label = all.label;
  if (auto ok = check(request, capabilities); !ok) return ok.error();
  return request;
}

}  // namespace pawl::lock
