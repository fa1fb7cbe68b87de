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
};

/// Of the global variables server_uuid (MySQL), server_uid (MariaDB), hostname and port; `now` and `uptime` in seconds, in the
/// server's words. Where its clock was set back to before its start, the uptime is a negative number without its sign.
Identity identity_of(std::map<std::string, std::string>& variables, std::string_view now, std::string_view uptime);

}  // namespace pawl::store::mysql
