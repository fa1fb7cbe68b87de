#pragma once

#include "tests/embedded_redis/keyspace.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

struct lua_State;

namespace pawl::test::embedded {

/// A change of the scripts' text before they are compiled: `from` becomes `to` wherever it stands.
struct Change {
  std::string_view from;
  std::string_view to;
};

/// Lua 5.1 with `redis.call` and `redis.pcall` over a Keyspace, as Redis runs scripts: the same conversions of arguments and
/// answers, globals that are not there are errors. Compiled scripts are kept, so one of these serves many worlds.
/// Threads: one.
class Scripts {
 public:
  explicit Scripts(std::vector<Change> changes = {});
  Scripts(const Scripts&) = delete;
  Scripts& operator=(const Scripts&) = delete;
  ~Scripts();

  /// Runs `text`, whose hash is `sha1`. Keys and arguments as after EVAL.
  Answer run(const std::string& sha1, const std::string& text, const Arguments& keys, const Arguments& arguments,
             Keyspace& keyspace);
  /// How many of the changes were found in what was run so far: a change that is nowhere proves nothing.
  std::size_t changes_made() const { return made_.size(); }

 private:
  struct Lua;
  std::string changed(std::string text);

  const std::vector<Change> changes_;
  std::map<std::size_t, int> made_;
  lua_State* const lua_;
  std::map<std::string, int, std::less<>> compiled_;  // by hash: where Lua keeps the function
};

}  // namespace pawl::test::embedded
