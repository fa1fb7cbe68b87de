#include "local/obstacle.hpp"

#include "base/duration.hpp"
#include "base/lock_name.hpp"

#include <chrono>

namespace pawl::local {

namespace {

/// "held by", or of an election "led by".
std::string owned_by(Kind kind) { return kind == Kind::election ? "is led by " : "is held by "; }

std::string describe(const Owner& owner) {
  if (owner.foreign) return "a client of another library";
  if (owner.host.empty()) return "an anonymous client";
  std::string text = owner.host + " (pid " + std::to_string(owner.pid) + ")";
  if (!owner.label.empty()) text += ", " + base::printable(owner.label);
  return text;
}

/// In whole seconds, or milliseconds where there are less than one; never less than what is left.
std::string time_left(Duration left) {
  const Duration in_milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left);
  if (left < std::chrono::seconds(1)) return base::format_duration(in_milliseconds);
  return base::format_duration(std::chrono::ceil<std::chrono::seconds>(left));
}

std::string describe(std::uint32_t of, const store::Waiting::Permits& permits) {
  const std::string all = " of " + std::to_string(of) + " permits ";
  if (permits.in_lock_delay == 0) return "has " + std::to_string(permits.taken) + all + "taken";
  if (permits.taken == 0) return "has " + std::to_string(permits.in_lock_delay) + all + "in lock-delay";
  return "has " + std::to_string(permits.taken) + all + "taken and " + std::to_string(permits.in_lock_delay) +
         " in lock-delay";
}

}  // namespace

std::string describe_obstacle(Kind kind, std::uint32_t permits, const store::Waiting& seen) {
  if (kind == Kind::permits) {
    if (!seen.permits) return "has too few free permits, or other clients are first";
    const std::uint64_t used = std::uint64_t{seen.permits->taken} + seen.permits->in_lock_delay;
    if (used == 0) return "has all permits free, but other clients are first";
    return describe(permits, *seen.permits);
  }
  if (seen.holder) return owned_by(kind) + describe(*seen.holder);
  if (seen.shut_for > Duration::zero())
    return "is in lock-delay for " + time_left(seen.shut_for) + ": its last holder failed";
  return owned_by(kind) + "another client";
}

std::string describe_own_hold(Kind kind) { return owned_by(kind) + "this client already"; }

}  // namespace pawl::local
