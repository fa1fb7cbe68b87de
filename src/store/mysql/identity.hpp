#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace pawl::store::mysql {

/// Which server it is, and since when it runs: a change of either begins a new epoch.
struct Identity {
  std::string words = {};
  std::int64_t started = 0;  ///< seconds since 1970, by the server's own clock
};

/// Of the global variables server_uuid (MySQL), server_uid (MariaDB), hostname and port; `now` and `uptime` in seconds, as the
/// server says.
Identity identity_of(std::map<std::string, std::string>& variables, std::int64_t now, std::int64_t uptime);

}  // namespace pawl::store::mysql
