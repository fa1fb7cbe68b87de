#include "apps/cli/torture/faults.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pawl::torture {

namespace {

Nanoseconds from_now(Milliseconds time) { return now() + Nanoseconds{1'000'000} * time.count(); }

}  // namespace

Milliseconds some_length(Chance& chance, Milliseconds lease) {
  if (chance.one_in(2)) return chance.between(Milliseconds(5), lease / 4);
  if (chance.one_in(2)) return chance.between(lease / 4, lease);
  return chance.between(lease, lease * 5 / 2);
}

Faults::Faults(std::vector<Fault> faults, std::uint64_t seed, Milliseconds lease, Milliseconds pace)
    : faults_(std::move(faults)), lease_(lease), pace_(pace), chance_(seed) {
  for (const Fault& fault : faults_) counts_[fault.name] = 0;
  next_ = from_now(pace_ / 2);
}

void Faults::tick() {
  for (auto one = running_.begin(); one != running_.end();) {
    if (now() < one->next) {
      ++one;
      continue;
    }
    one->steps.front().act();
    one->steps.erase(one->steps.begin());
    if (one->steps.empty()) {
      one = running_.erase(one);
    } else {
      one->next = time_of(one->steps.front());
    }
  }
  if (faults_.empty() || now() < next_) return;
  begin_one();
  next_ = from_now(chance_.between(pace_ / 10, pace_));
}

void Faults::begin_one() {
  const Fault& fault = draw();
  if (busy(fault.group)) return;
  Fault::Steps steps = fault.begin(chance_);
  ++counts_[fault.name];
  if (steps.empty()) return;
  const Nanoseconds next = time_of(steps.front());
  running_.push_back({fault.group, std::move(steps), next});
}

Nanoseconds Faults::time_of(const Fault::Step& step) {
  return from_now(step.after > Milliseconds(0) ? step.after : some_length(chance_, lease_));
}

const Fault& Faults::draw() {
  if (round_.empty()) {
    round_.resize(faults_.size());
    std::iota(round_.begin(), round_.end(), std::size_t{0});
  }
  const auto drawn = round_.begin() + static_cast<std::ptrdiff_t>(chance_.below(round_.size()));
  const std::size_t index = *drawn;
  round_.erase(drawn);
  return faults_[index];
}

bool Faults::busy(const std::string& group) const {
  return !group.empty() &&
         std::any_of(running_.begin(), running_.end(), [&group](const Running& one) { return one.group == group; });
}

void Faults::end_all() {
  for (const Running& one : std::exchange(running_, {})) {
    for (const Fault::Step& step : one.steps) step.act();
  }
}

bool Faults::all_seen() const {
  return std::all_of(counts_.begin(), counts_.end(), [](const auto& one) { return one.second > 0; });
}

}  // namespace pawl::torture
