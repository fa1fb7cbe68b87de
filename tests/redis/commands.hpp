#pragma once

#include "tests/support/redis_server.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

namespace pawl::test {

/// How often each command was called since reset(), by any client, also from within a script.
class Commands {
 public:
  explicit Commands(const RedisServer& server) : server_(server) { reset(); }

  void reset() const { server_.cli({"CONFIG", "RESETSTAT"}); }
  std::map<std::string, int> counts() const {
    std::map<std::string, int> counts;
    std::istringstream lines(server_.cli({"INFO", "commandstats"}));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(":calls=");
      if (!line.starts_with("cmdstat_") || colon == std::string::npos) continue;
      counts[line.substr(8, colon - 8)] = std::stoi(line.substr(colon + 7));
    }
    return counts;
  }
  /// Scripts alone.
  int scripts() const {
    std::map<std::string, int> all = counts();
    return all["evalsha"] + all["eval"];
  }
  /// How many commands a script has called, on average: never one for each of thousands of claims.
  int per_script() const {
    int all = 0;
    for (const auto& [command, calls] : counts()) all += calls;
    return all / std::max(1, scripts());
  }

 private:
  const RedisServer& server_;
};

}  // namespace pawl::test
