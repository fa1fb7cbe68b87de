#include "store/redis/script.hpp"

#include "redis_lua.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace pawl::store::redis {

namespace {

Script with_common(std::string_view own) { return Script({lua::begin_lua, lua::common_lua, own}); }

/// The short way comes first: most scripts end there, and need nothing of what follows.
Script with_short_way(std::string_view quick, std::string_view own) {
  return Script({lua::begin_lua, quick, lua::common_lua, own});
}

}  // namespace

std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL has no SHA-1");
  }
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15];
  }
  return hex;
}

Script::Script(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text.append(part).append("\n");
  sha1 = sha1_of(text);
}

QueueScripts::QueueScripts()
    : claim(with_short_way(lua::claim_quick_lua, lua::claim_lua)),
      withdraw(with_short_way(lua::withdraw_quick_lua, lua::withdraw_lua)),
      look(with_common(lua::look_lua)),
      downgrade(with_common(lua::downgrade_lua)),
      relabel(with_common(lua::relabel_lua)),
      revoke(with_common(lua::revoke_lua)),
      inspect(with_common(lua::inspect_lua)),
      check(with_common(lua::check_lua)),
      succession(with_common(lua::succession_lua)),
      open_session(with_common(lua::open_session_lua)),
      renew(with_common(lua::renew_lua)),
      close_session(with_common(lua::close_session_lua)),
      session_claims(Script({lua::begin_lua, lua::session_claims_lua})) {}

KeyScripts::KeyScripts()
    : claim(with_short_way(lua::key_claim_quick_lua, lua::key_claim_lua)),
      inspect(with_common(lua::key_inspect_lua)),
      check(with_common(lua::key_check_lua)) {}

const KeyScripts& key_scripts() {
  static const KeyScripts scripts;
  return scripts;
}

const QueueScripts& queue_scripts() {
  static const QueueScripts scripts;
  return scripts;
}

const Script& meta_script() {
  static const Script script({lua::meta_lua});
  return script;
}

}  // namespace pawl::store::redis
