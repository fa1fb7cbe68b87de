#pragma once

#include "store/claim.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::zookeeper {

/// Whose names the nodes of a queue have. Only clients that agree on it can take turns.
enum class Dialect : std::uint8_t {
  curator,  ///< lock-0000000007; __READ__0000000007 and __WRIT__0000000007
  kazoo,    ///< <32 hex digits>__lock__0000000007 and __rlock__
};

/// A node in a queue, as its name tells.
struct Place {
  std::string name = {};
  std::int64_t sequence = 0;  ///< what the server has put behind the name
  Mode mode = Mode::exclusive;
};

/// The server counts up to this number, and then stops: such a node stands nowhere.
constexpr std::int64_t last_sequence = 2147483647;

/// What the name of a node begins with; the server puts ten digits behind it.
std::string stem(Dialect dialect, Kind kind, Mode mode, ClaimId id);
/// What such a node is called when it has that number.
std::string numbered(const std::string& stem, std::int64_t sequence);
/// Nothing: it is not a place in a queue of that kind, whoever has made it.
std::optional<Place> place_of(Dialect dialect, Kind kind, std::string_view name);
/// All places among these names, first come first.
std::vector<Place> places_of(Dialect dialect, Kind kind, const std::vector<std::string>& names);

/// Must `behind` wait for `before`?
bool blocks(const Place& before, const Place& behind);

/// Can there be a node of that path? Errors: invalid_argument.
Result<void> check_path(std::string_view path);
/// "/a/b/c" of "/a/b" and "c".
std::string child_of(const std::string& folder, std::string_view name);
std::vector<std::string> children_of(const std::string& folder, const std::vector<std::string>& names);
/// "/a/b" of "/a/b/c".
std::string parent_of(const std::string& path);
/// "c" of "/a/b/c".
std::string name_of(const std::string& path);

}  // namespace pawl::store::zookeeper
