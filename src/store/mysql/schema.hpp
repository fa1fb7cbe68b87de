#pragma once

#include <pawl/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::mysql {

/// The layout of the tables that this pawl makes, and the only one that it uses.
inline constexpr std::string_view layout = "2";

/// Errors: unsupported, for tables of another one.
Result<void> accept_layout(std::string_view found);

/// What makes the tables and procedures, in order; each of them may be there already.
const std::vector<std::string>& schema_statements();

}  // namespace pawl::store::mysql
