#include <pawl/hold.hpp>
#include <pawl/sequencer.hpp>

#include "base/lock_name.hpp"

#include <fmt/format.h>

namespace pawl {

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::mutex: return "mutex";
    case Kind::rw: return "rw";
    case Kind::permits: return "permits";
    case Kind::election: return "election";
  }
  return "unknown";
}

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::exclusive: return "exclusive";
    case Mode::shared: return "shared";
  }
  return "unknown";
}

std::string_view to_string(HoldState state) noexcept {
  switch (state) {
    case HoldState::held: return "held";
    case HoldState::jeopardy: return "jeopardy";
    case HoldState::released: return "released";
    case HoldState::lost: return "lost";
  }
  return "unknown";
}

Result<Kind> parse_kind(std::string_view text) {
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::permits, Kind::election}) {
    if (text == to_string(kind)) return kind;
  }
  return {
      Errc::invalid_argument,
      fmt::format("\"{}\" is not a kind of lock; the kinds are mutex, rw, permits, election", base::printable(text))};
}

Result<Mode> parse_mode(std::string_view text) {
  for (const Mode mode : {Mode::exclusive, Mode::shared}) {
    if (text == to_string(mode)) return mode;
  }
  return {Errc::invalid_argument,
          fmt::format("\"{}\" is not a mode; the modes are exclusive, shared", base::printable(text))};
}

}  // namespace pawl
