#pragma once

#include "apps/cli/context.hpp"

#include <string_view>
#include <vector>

namespace pawl::cli {

/// Every kind of lock of that name that is in use, or only the given kind. Throws Failure.
std::vector<LockView> views_of(Client& client, std::string_view name, std::optional<Kind> kind);

/// "web1, pid 4711: nightly backup"
std::string format_who(const ClaimView& claim);

/// The name as it may be written to a terminal, in quotes.
std::string in_quotes(std::string_view name);

}  // namespace pawl::cli
