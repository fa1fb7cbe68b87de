// The names of ZooKeeper's nodes: what we call ours we find again, the order of a queue is an order, and a path that is
// accepted is one that the servers accept.
// Input: one byte that says which queue, then names, with a line's end between them.

#include "store/zookeeper/layout.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <cstring>

namespace pawl::fuzz::zookeeper_layout {

using namespace store::zookeeper;

/// ZooKeeper 3.8, PathUtils.validatePath, on bytes: what is left of its rules where text is UTF-8.
bool servers_take(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  if (path.find("//") != std::string_view::npos) return false;
  const std::string closed = std::string(path) + "/";
  if (closed.find("/./") != std::string::npos || closed.find("/../") != std::string::npos) return false;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return false;
  }
  return true;
}

void check_path_rules(std::string_view path) {
  if (!check_path(path)) return;
  must(servers_take(path), "a path that is accepted is one for the servers");
  const std::string whole(path);
  must(child_of(parent_of(whole), name_of(whole)) == whole, "a path is its parent and its name");
}

void check_own_name(Dialect dialect, Kind kind, std::string_view input) {
  std::uint64_t bits = 0;
  if (!input.empty()) std::memcpy(&bits, input.data(), std::min(input.size(), sizeof bits));
  const auto sequence = static_cast<std::int64_t>(bits % (static_cast<std::uint64_t>(last_sequence) + 1));
  const Mode mode = kind == Kind::rw && (bits >> 40 & 1) != 0 ? Mode::shared : Mode::exclusive;
  const std::string name = numbered(stem(dialect, kind, mode, {bits, bits}), sequence);
  const auto place = place_of(dialect, kind, name);
  must(place && place->sequence == sequence && place->mode == mode, "our own nodes are found again");
}

void run(std::string_view input) {
  const std::uint8_t which = take_byte(input);
  const Dialect dialect = (which & 1) != 0 ? Dialect::kazoo : Dialect::curator;
  const Kind kind = (which & 2) != 0 ? Kind::rw : Kind::mutex;
  check_own_name(dialect, kind, input);
  check_path_rules(input);
  std::vector<std::string> names;
  while (!input.empty() && names.size() < 100) names.emplace_back(take_part(input, '\n'));
  const std::vector<Place> places = places_of(dialect, kind, names);
  must(places.size() <= names.size(), "no place is made up");
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    must(places[i].sequence <= places[i + 1].sequence, "a queue is in the order of its numbers");
    must(!blocks(places[i + 1], places[i]), "those behind block nobody before them");
  }
}

}  // namespace pawl::fuzz::zookeeper_layout

PAWL_FUZZ_TARGET(zookeeper_layout, pawl::fuzz::zookeeper_layout::run);
