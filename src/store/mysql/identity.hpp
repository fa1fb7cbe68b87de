#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pawl::store::mysql {

/// Which server it is, and since when it runs: a change of either begins a new epoch.
struct Identity {
  std::string words = {};
  std::int64_t started = 0;   ///< seconds since 1970, by the server's own clock
  bool many_writers = false;  ///< of a cluster in which several servers take writes
  bool behind_proxy = false;  ///< which may share its connections to the server between clients
};

/// Asks for its time, its uptime and the connection's number, all in one statement: of two, the second may come much later.
/// MariaDB and MySQL have the uptime in different tables, and each skips the other's comment.
inline constexpr std::string_view age_of_server =
    "SELECT UNIX_TIMESTAMP(), VARIABLE_VALUE, CONNECTION_ID() FROM /*M! information_schema.GLOBAL_STATUS */ "
    "/*!50708 performance_schema.global_status */ WHERE VARIABLE_NAME = 'Uptime'";

/// Of the global variables server_uuid (MySQL), server_uid (MariaDB), hostname and port; `now` and `uptime` in seconds, in the
/// server's words. Where its clock was set back to before its start, the uptime is a negative number without its sign.
Identity identity_of(std::map<std::string, std::string>& variables, std::string_view now, std::string_view uptime);

}  // namespace pawl::store::mysql
