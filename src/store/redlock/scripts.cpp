#include "store/redlock/scripts.hpp"

#include "redlock_lua.hpp"

namespace pawl::store::redlock {

namespace {

using redis::Script;

Script for_voters(std::string_view own) { return Script({lua::begin_lua, lua::common_lua, own}); }

}  // namespace

Scripts::Scripts()
    : hello(Script({lua::hello_lua})),
      join(Script({lua::join_lua})),
      vouch(for_voters(lua::vouch_lua)),
      announce(for_voters(lua::announce_lua)),
      acquire(for_voters(lua::acquire_lua)),
      raise(for_voters(lua::raise_lua)),
      release(Script({lua::common_lua, lua::release_lua})),
      renew(for_voters(lua::renew_lua)),
      look(for_voters(lua::look_lua)),
      check(for_voters(lua::check_lua)),
      inspect(for_voters(lua::inspect_lua)),
      names(for_voters(lua::names_lua)),
      relabel(for_voters(lua::relabel_lua)),
      revoke(for_voters(lua::revoke_lua)) {}

const Scripts& scripts() {
  static const Scripts all;
  return all;
}

}  // namespace pawl::store::redlock
