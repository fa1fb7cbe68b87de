#pragma once

#include "store/server_url.hpp"

#include <chrono>
#include <cstdint>

namespace pawl::store::redlock {

/// What the URL says.
struct Config : ServerConfig {
  Config() { prefix = "{pawl}:redlock:"; }

  Duration drift = {};  ///< the nodes keep a lock for this much longer than its holder believes; beside 1 % + 2 ms
  Duration node_timeout = std::chrono::milliseconds(500);  ///< for the answer of one node
  std::int64_t tries = 3;                                  ///< with a short pause, when nobody had a majority
  Duration delay = std::chrono::milliseconds(200);         ///< between two tries; a random time around it
};

/// Reads the text alone: no file is opened, and no server is asked. Errors: invalid_argument.
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

}  // namespace pawl::store::redlock
