#pragma once

#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <string>
#include <string_view>

namespace pawl::base {

/// Numbers with units: "250us", "1500ms", "2s", "1.5s", "5m", "1h30m", "2d". Of several, each unit is smaller than the one
/// before, and only the last may have a fraction. Zero needs a unit, too.
/// Errors: invalid_argument for anything else: no unit, a sign, blanks, more than 292 years, less than a nanosecond.
Result<Duration> parse_duration(std::string_view text);

/// For people, in at most two units and cut, not rounded: "2s", "1.5s", "150ms", "3h 5m".
std::string format_duration(Duration duration);

}  // namespace pawl::base
