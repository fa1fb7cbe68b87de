#include "tests/simulation/passing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

// A clock may run too slowly by 1 %, and a pass may be on its way when the notice comes.
constexpr Duration slack = 100ms;
constexpr std::uint32_t one_more = 1;

}  // namespace

void Passing::contended(const Held& holder, base::Time now) {
  if (holder.lock->kind != Kind::mutex || holder.lock->strict) return;
  contended_.try_emplace(chain(holder), Contention{now});
}

Complaint Passing::granted(const Held& held, base::Time resumed, bool alone, base::Time now) {
  const PlayedLock& lock = *held.lock;
  const auto asked = asked_back_.find(chain(held));
  const bool in_time = asked == asked_back_.end() || now <= std::max(asked->second, resumed);  // all of them are told
  if (!in_time && !held.hold->release_requested().stop_requested()) {
    return Violation{
        Oracle::passed_on_though_asked_back,
        fmt::format("{} was asked back, and is passed on with token {}", lock.title(), held.token.to_string())};
  }
  const auto found = contended_.find(chain(held));
  if (found == contended_.end()) return {};
  Contention& contention = found->second;
  if (resumed > contention.since) contention = {resumed};  // only now it reads the notice
  ++contention.passes;
  const bool often = contention.passes > lock.passes + one_more;
  const bool late = alone && now > contention.since + lock.pass_time + slack;
  if (!often && !late) return {};
  return Violation{
      Oracle::too_many_passes,
      fmt::format("{} is passed on for the {}th time, {} ms after its client knew that others wait; the "
                  "bounds are {} and {} ms",
                  lock.title(), contention.passes, (now - contention.since) / 1ms, lock.passes, lock.pass_time / 1ms)};
}

}  // namespace pawl::test
