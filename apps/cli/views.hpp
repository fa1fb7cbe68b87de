#pragma once

#include "apps/cli/context.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

inline constexpr Kind all_kinds[] = {Kind::mutex, Kind::rw, Kind::permits, Kind::election};

/// Held, waited for, or shut after a failure.
bool in_use(const LockView& view);

/// Every kind of lock of that name that is in use, or only the given kind. Throws Failure.
std::vector<LockView> views_of(Client& client, std::string_view name, std::optional<Kind> kind);

/// "web1, pid 4711: nightly backup"
std::string format_who(const ClaimView& claim);

/// The name as it may be written to a terminal, in quotes.
std::string in_quotes(std::string_view name);

/// Any bytes as one line: as in_quotes, but without quotes around it, whole, and with its own quotes as they are. What
/// a terminal should not get is \n, \t, \xHH and the like, a backslash is doubled.
std::string as_line(std::string_view text);

/// How many permits of a semaphore are taken.
std::size_t permits_held(const LockView& view);

/// "0-2, 5"
std::string format_slots(const std::vector<std::uint32_t>& slots);

}  // namespace pawl::cli
