#pragma once

#include "store/mysql/connection.hpp"

#include <pawl/result.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::mysql {

/// The layout of the tables that this pawl makes, and the only one that it uses.
inline constexpr int layout = 3;

/// What a client does with the layout that it finds. Errors: unsupported, with what to do about it.
Result<void> accept_layout(std::string_view found);

/// What makes the tables and procedures, in order, where none are; each of them may be there already.
const std::vector<std::string>& schema_statements();

/// What makes them, or brings those of an older pawl to this layout, for the server's command line client.
std::string schema_script();

/// Does it, and says what was done.
/// Errors: unsupported (the tables of a newer pawl; clients are connected), and the server's.
awaitable<Result<std::string>> apply_schema(std::shared_ptr<Connection> connection, Deadline deadline);

}  // namespace pawl::store::mysql
