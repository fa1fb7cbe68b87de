#include "tests/simulation/witness.hpp"

#include <fmt/format.h>

namespace pawl::test {

Complaint Witness::told(const Event& event) {
  const auto complaint = [&](Oracle oracle, std::string_view when) {
    return Violation{oracle, fmt::format("the observer is told \"{}\" of {} {} {}", to_string(event.type),
                                         to_string(event.kind), event.name, when)};
  };
  if (closed_) return complaint(Oracle::event_after_close, "after close()");
  if (event.token == Token{}) return {};
  State& state = holds_[{event.kind, event.name, event.token}];
  const State before = state;
  switch (event.type) {
    case EventType::jeopardy: state = State::jeopardy; break;
    case EventType::safe: state = State::safe; break;
    case EventType::released:
    case EventType::lost: state = State::over; break;
    default: return {};
  }
  if (before == State::over) return complaint(Oracle::order_of_events, "after its end");
  if (state == before) return complaint(Oracle::order_of_events, "twice in a row");
  return {};
}

}  // namespace pawl::test
