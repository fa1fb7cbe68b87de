#pragma once

#include "tests/embedded_redis/keyspace.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::test::embedded {

/// Compares the records before and after every command, for what no promise shows because it costs time only, or because
/// somebody else's mistake must come on top:
///   - who waited and holds now, by another client's doing, was sent a letter by that very command;
///   - a session that has ended never lives again.
class Transitions {
 public:
  Transitions(Keyspace& keys, std::string prefix) : keys_(keys), prefix_(std::move(prefix)) {}

  /// After a command: its words, and what was published meanwhile.
  std::optional<std::string> look(const Arguments& words, const std::vector<std::string>& letters);

 private:
  std::optional<std::string> check_letters(const Arguments& words, const std::vector<std::string>& letters);
  std::optional<std::string> check_sessions();
  std::set<std::string> members(const std::string& start);

  Keyspace& keys_;
  const std::string prefix_;
  std::set<std::string> waiting_;
  std::map<std::string, double, std::less<>> ends_;
};

}  // namespace pawl::test::embedded
