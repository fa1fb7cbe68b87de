#include "tests/embedded_redis/scripts.hpp"

#include "store/redis/script.hpp"

#include <lua.hpp>

#include <cstdio>
#include <new>
#include <utility>

namespace pawl::test::embedded {

// Lua leaves functions by longjmp: nothing with a destructor may live where it can raise an error.
struct Scripts::Lua {
  static void push(lua_State* lua, const std::string& text) { lua_pushlstring(lua, text.data(), text.size()); }

  static void push_field(lua_State* lua, const char* name, const std::string& text) {
    lua_createtable(lua, 0, 1);
    push(lua, text);
    lua_setfield(lua, -2, name);
  }

  /// As Redis shows an answer to a script: nil is false, a status and an error are tables.
  static void push(lua_State* lua, const Answer& answer) {
    switch (answer.type) {
      case Answer::Type::nil: return lua_pushboolean(lua, 0);
      case Answer::Type::integer: return lua_pushnumber(lua, static_cast<lua_Number>(answer.number));
      case Answer::Type::text: return push(lua, answer.text);
      case Answer::Type::status: return push_field(lua, "ok", answer.text);
      case Answer::Type::error: return push_field(lua, "err", answer.text);
      case Answer::Type::array: break;
    }
    lua_createtable(lua, static_cast<int>(answer.items.size()), 0);
    int at = 0;
    for (const Answer& item : answer.items) {
      push(lua, item);
      lua_rawseti(lua, -2, ++at);
    }
  }

  static std::string text_at(lua_State* lua, int at) {
    std::size_t size = 0;
    const char* bytes = lua_tolstring(lua, at, &size);
    return {bytes, size};
  }

  /// False: something is neither text nor number.
  static bool words_of(lua_State* lua, Arguments& words) {
    for (int i = 1; i <= lua_gettop(lua); ++i) {
      if (lua_type(lua, i) == LUA_TNUMBER) {
        char digits[64];
        std::snprintf(digits, sizeof digits, "%.17g", lua_tonumber(lua, i));
        words.emplace_back(digits);
      } else if (lua_type(lua, i) == LUA_TSTRING) {
        words.push_back(text_at(lua, i));
      } else {
        return false;
      }
    }
    return !words.empty();
  }

  static Answer execute(lua_State* lua) {
    Arguments words;
    if (!words_of(lua, words)) return Answer::error("ERR Lua redis lib command arguments must be strings or integers");
    if (!Keyspace::knows(words[0])) return Answer::error("ERR Unknown Redis command called from script");
    Answer answer = keyspace(lua).execute(words);
    if (answer.is_error() && answer.text.starts_with("ERR wrong number of arguments")) {
      answer.text = "ERR Wrong number of args calling Redis command from script";
    }
    return answer;
  }

  /// Pushes the answer; true: it is an error.
  static bool push_executed(lua_State* lua) {
    const Answer answer = execute(lua);
    push(lua, answer);
    return answer.is_error();
  }

  static int call(lua_State* lua) { return push_executed(lua) ? lua_error(lua) : 1; }

  static int pcall(lua_State* lua) {
    push_executed(lua);
    return 1;
  }

  static void push_sha1(lua_State* lua) { push(lua, store::redis::sha1_of(text_at(lua, 1))); }

  static int sha1hex(lua_State* lua) {
    push_sha1(lua);
    return 1;
  }

  static int no_global(lua_State* lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
  }

  static Keyspace& keyspace(lua_State* lua) {
    lua_getfield(lua, LUA_REGISTRYINDEX, "keyspace");
    auto* found = static_cast<Keyspace*>(lua_touserdata(lua, -1));
    lua_pop(lua, 1);
    return *found;
  }

  static void open(lua_State* lua) {
    luaL_openlibs(lua);
    lua_createtable(lua, 0, 3);
    for (const auto& [name, function] :
         {std::pair{"call", &call}, std::pair{"pcall", &pcall}, std::pair{"sha1hex", &sha1hex}}) {
      lua_pushcfunction(lua, function);
      lua_setfield(lua, -2, name);
    }
    lua_setglobal(lua, "redis");
    set_global(lua, "KEYS", {});
    set_global(lua, "ARGV", {});
    lua_createtable(lua, 0, 2);
    for (const char* name : {"__index", "__newindex"}) {
      lua_pushcfunction(lua, &no_global);
      lua_setfield(lua, -2, name);
    }
    lua_setmetatable(lua, LUA_GLOBALSINDEX);
  }

  static void set_global(lua_State* lua, const char* name, const Arguments& words) {
    lua_pushstring(lua, name);
    lua_createtable(lua, static_cast<int>(words.size()), 0);
    int at = 0;
    for (const std::string& word : words) {
      push(lua, word);
      lua_rawseti(lua, -2, ++at);
    }
    lua_rawset(lua, LUA_GLOBALSINDEX);
  }

  /// What a script returned, as Redis answers it: a number without its fraction, a list up to its first nil.
  static Answer answer_at(lua_State* lua, int at) {
    switch (lua_type(lua, at)) {
      case LUA_TSTRING: return Answer::of(text_at(lua, at));
      case LUA_TNUMBER: return Answer::of(static_cast<std::int64_t>(lua_tonumber(lua, at)));
      case LUA_TBOOLEAN: return lua_toboolean(lua, at) != 0 ? Answer::of(1) : Answer();
      case LUA_TTABLE: break;
      default: return {};
    }
    if (const auto error = field(lua, at, "err")) return Answer::error(*error);
    if (const auto status = field(lua, at, "ok")) return {.type = Answer::Type::status, .text = *status};
    std::vector<Answer> items;
    for (int i = 1;; ++i) {
      lua_rawgeti(lua, at, i);
      const bool ends = lua_isnil(lua, -1);
      if (!ends) items.push_back(answer_at(lua, lua_gettop(lua)));
      lua_pop(lua, 1);
      if (ends) return Answer::list(std::move(items));
    }
  }

  static std::optional<std::string> field(lua_State* lua, int at, const char* name) {
    lua_pushstring(lua, name);
    lua_rawget(lua, at);
    std::optional<std::string> text;
    if (lua_type(lua, -1) == LUA_TSTRING) text = text_at(lua, lua_gettop(lua));
    lua_pop(lua, 1);
    return text;
  }

  /// What broke off a script: a server's error, or Lua's own.
  static Answer failure(lua_State* lua) {
    const int top = lua_gettop(lua);
    if (lua_type(lua, top) == LUA_TTABLE) return answer_at(lua, top);
    return Answer::error("ERR " + (lua_isstring(lua, top) != 0 ? text_at(lua, top) : std::string("unknown error")));
  }
};

Scripts::Scripts(std::vector<Change> changes) : changes_(std::move(changes)), lua_(luaL_newstate()) {
  if (lua_ == nullptr) throw std::bad_alloc();
  Lua::open(lua_);
}

Scripts::~Scripts() { lua_close(lua_); }

std::string Scripts::changed(std::string text) {
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const auto& [from, to] = changes_[i];
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
      ++made_[i];
    }
  }
  return text;
}

Answer Scripts::run(const std::string& sha1, const std::string& text, const Arguments& keys, const Arguments& arguments,
                    Keyspace& keyspace) {
  const int bottom = lua_gettop(lua_);
  auto known = compiled_.find(sha1);
  if (known == compiled_.end()) {
    const std::string source = changed(text);
    if (luaL_loadbuffer(lua_, source.data(), source.size(), "@user_script") != 0) {
      Answer answer = Answer::error("ERR Error compiling script (new function): " + Lua::text_at(lua_, -1));
      lua_settop(lua_, bottom);
      return answer;
    }
    known = compiled_.emplace(sha1, luaL_ref(lua_, LUA_REGISTRYINDEX)).first;
  }
  lua_pushlightuserdata(lua_, &keyspace);
  lua_setfield(lua_, LUA_REGISTRYINDEX, "keyspace");
  Lua::set_global(lua_, "KEYS", keys);
  Lua::set_global(lua_, "ARGV", arguments);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, known->second);
  Answer answer = lua_pcall(lua_, 0, 1, 0) == 0 ? Lua::answer_at(lua_, lua_gettop(lua_)) : Lua::failure(lua_);
  lua_settop(lua_, bottom);
  return answer;
}

}  // namespace pawl::test::embedded
