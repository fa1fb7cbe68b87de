#include "base/notifier.hpp"

namespace pawl::base {

Notifier::Notifier(Clock& clock) : alarms_(clock) { calls_.start(); }

// In the order in which one leads to another.
std::uint64_t Notifier::settle() {
  std::uint64_t called = alarms_.settle();
  called += calls_.settle();
  called += observers_.settle();
  return called;
}

void Notifier::stop() {
  alarms_.stop();
  calls_.stop();
  observers_.stop();
}

}  // namespace pawl::base
