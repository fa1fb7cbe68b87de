#include "store/zookeeper/layout.hpp"

#include "base/lock_name.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace pawl::store::zookeeper {

namespace {

constexpr std::size_t digits = 10;
constexpr std::size_t longest_path = 3000;  // leaves room for what is put behind it

struct Marker {
  std::string_view text;
  Mode mode;
};

std::vector<Marker> markers(Dialect dialect, Kind kind) {
  if (dialect == Dialect::kazoo) {
    if (kind == Kind::rw) return {{"__lock__", Mode::exclusive}, {"__rlock__", Mode::shared}};
    return {{"__lock__", Mode::exclusive}};
  }
  if (kind == Kind::rw) return {{"__WRIT__", Mode::exclusive}, {"__READ__", Mode::shared}};
  return {{"lock-", Mode::exclusive}};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One character of UTF-8 at the front: how many bytes, and which. None: it is not well-formed, or above U+FFFF.
struct Character {
  std::size_t size = 0;
  std::uint32_t code = 0;
};

std::optional<Character> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return Character{1, first};
  if (first < 0xE0) {
    if (first < 0xC2 || !continues(1)) return std::nullopt;
    return Character{2, (first & 0x1F) << 6 | (byte(1) & 0x3F)};
  }
  if (first >= 0xF0 || !continues(1) || !continues(2)) return std::nullopt;
  const std::uint32_t code = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (code < 0x800) return std::nullopt;
  return Character{3, code};
}

/// What the servers say of a path. They count in UTF-16, so a character above U+FFFF is two surrogates to them.
bool allowed(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool surrogate_or_private = code >= 0xD800 && code <= 0xF8FF;
  return !control && !surrogate_or_private && code < 0xFFF0;
}

bool all_allowed(std::string_view text) {
  while (!text.empty()) {
    const std::optional<Character> next = first_character(text);
    if (!next || !allowed(next->code)) return false;
    text.remove_prefix(next->size);
  }
  return true;
}

}  // namespace

std::string stem(Dialect dialect, Kind kind, Mode mode, ClaimId id) {
  std::string own = dialect == Dialect::kazoo ? to_string(id) : "";
  for (const Marker& marker : markers(dialect, kind)) {
    if (marker.mode == mode) return own + std::string(marker.text);
  }
  return own;
}

std::string numbered(const std::string& stem, std::int64_t sequence) { return fmt::format("{}{:010}", stem, sequence); }

std::optional<Place> place_of(Dialect dialect, Kind kind, std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (name.size() - begin < digits) return std::nullopt;
  begin = name.size() - digits;
  const bool negative = begin > 0 && name[begin - 1] == '-' && name[begin] != '0';
  for (const Marker& marker : markers(dialect, kind)) {
    // A marker may end with the sign: "lock-2147483648" is no negative number.
    std::string_view before = name.substr(0, begin);
    std::int64_t sign = 1;
    if (!before.ends_with(marker.text) && negative) {
      before.remove_suffix(1);
      sign = -1;
    }
    if (!before.ends_with(marker.text)) continue;
    Place place{std::string(name), 0, marker.mode};
    std::from_chars(name.data() + begin, name.data() + name.size(), place.sequence);
    place.sequence *= sign;
    return place;
  }
  return std::nullopt;
}

std::vector<Place> places_of(Dialect dialect, Kind kind, const std::vector<std::string>& names) {
  std::vector<Place> places;
  for (const std::string& name : names) {
    if (std::optional<Place> place = place_of(dialect, kind, name)) places.push_back(std::move(*place));
  }
  std::sort(places.begin(), places.end(), [](const Place& one, const Place& other) {
    return one.sequence != other.sequence ? one.sequence < other.sequence : one.name < other.name;
  });
  return places;
}

bool blocks(const Place& before, const Place& behind) {
  if (before.sequence >= behind.sequence) return false;
  return behind.mode == Mode::exclusive || before.mode == Mode::exclusive;
}

Result<void> check_path(std::string_view path) {
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::invalid_argument, "\"" + base::printable(path) + "\" cannot be a path in ZooKeeper: " + what};
  };
  if (path.empty() || path.front() != '/') return wrong("it must begin with /");
  if (path.size() == 1) return wrong("it is the root");
  if (path.size() > longest_path) return wrong("it is too long");
  std::size_t begin = 1;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty()) return wrong("a part of it is empty");
    if (part == "." || part == "..") return wrong("a part of it is . or ..");
    if (!all_allowed(part)) return wrong("it has control characters, or others that no node may have");
    begin = end + 1;
  }
  return {};
}

std::string child_of(const std::string& folder, std::string_view name) {
  std::string path = folder;
  path += '/';
  path += name;
  return path;
}

std::vector<std::string> children_of(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  paths.reserve(names.size());
  for (const std::string& name : names) paths.push_back(child_of(folder, name));
  return paths;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace pawl::store::zookeeper
