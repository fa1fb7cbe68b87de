#include "store/default_store.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace pawl::store {

namespace {

/// As a URL's path: what could be taken for something else is percent-encoded.
std::string as_path(std::string_view bytes) {
  constexpr std::string_view plain = "/-_.~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::string text;
  for (const char c : bytes) {
    if (plain.find(c) != std::string_view::npos) {
      text += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    text += '%';
    text += "0123456789ABCDEF"[byte >> 4];
    text += "0123456789ABCDEF"[byte & 0xF];
  }
  return text;
}

Result<std::string> home_of(uid_t user) {
  std::vector<char> room(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && found->pw_dir[0] == '/') {
    return std::string(found->pw_dir);
  }
  return Error{Errc::invalid_argument, "user " + std::to_string(user) +
                                           " has no home in the user database, so there is no default store: name one, "
                                           "as in PAWL_STORE=file:///path/to/a/folder"};
}

}  // namespace

bool default_store_is_named() {
  const char* named = std::getenv("PAWL_STORE");
  return named != nullptr && *named != '\0';
}

Result<std::string> default_store_url() {
  if (default_store_is_named()) return std::string(std::getenv("PAWL_STORE"));
  const uid_t user = ::geteuid();
  if (user == 0) return std::string("file:///var/lib/pawl");
  Result<std::string> home = home_of(user);
  if (!home) return home.error();
  while (home->ends_with('/')) home->pop_back();
  return "file://" + as_path(*home) + "/.local/state/pawl";
}

}  // namespace pawl::store
