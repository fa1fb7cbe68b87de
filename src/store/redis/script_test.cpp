#include "store/redis/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

std::map<std::string, const Script*> scripts() {
  const QueueScripts& queue = queue_scripts();
  const KeyScripts& key = key_scripts();
  return {{"claim", &queue.claim},
          {"withdraw", &queue.withdraw},
          {"look", &queue.look},
          {"downgrade", &queue.downgrade},
          {"relabel", &queue.relabel},
          {"revoke", &queue.revoke},
          {"inspect", &queue.inspect},
          {"check", &queue.check},
          {"succession", &queue.succession},
          {"open_session", &queue.open_session},
          {"renew", &queue.renew},
          {"close_session", &queue.close_session},
          {"session_claims", &queue.session_claims},
          {"key_claim", &key.claim},
          {"key_inspect", &key.inspect},
          {"key_check", &key.check}};
}

// Names that nobody has declared, in a Lua script. Redis refuses such a script, but only when it comes to that line.

/// Without comments, and with nothing in its strings.
std::string bare(std::string_view lua) {
  std::string out;
  for (std::size_t i = 0; i < lua.size(); ++i) {
    if (lua.substr(i, 2) == "--") i = std::min(lua.find('\n', i), lua.size() - 1);
    const char c = lua[i];
    if (c == '\'' || c == '"') {
      out += "''";
      for (++i; i < lua.size() && lua[i] != c; ++i) i += lua[i] == '\\';
    } else {
      out += c;
    }
  }
  return out;
}

/// Names, numbers, and all else byte by byte.
std::vector<std::string> tokens_of(const std::string& lua) {
  const auto in_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < lua.size();) {
    std::size_t end = i + 1;
    if (in_word(lua[i])) {
      while (end < lua.size() && in_word(lua[end])) ++end;
    }
    if (!std::isspace(static_cast<unsigned char>(lua[i]))) tokens.push_back(lua.substr(i, end - i));
    i = end;
  }
  tokens.insert(tokens.end(), 3, "");
  return tokens;
}

bool is_name(const std::string& token) {
  return !token.empty() && (token[0] == '_' || std::isalpha(static_cast<unsigned char>(token[0])));
}

/// Scopes are all one here: what was declared anywhere before counts.
std::set<std::string> undeclared(std::string_view lua) {
  std::set<std::string> known = {"and",      "break",  "do",    "else",     "elseif", "end",  "false",  "for",
                                 "function", "if",     "in",    "nil",      "not",    "or",   "repeat", "return",
                                 "then",     "true",   "until", "while",    "local",  "KEYS", "ARGV",   "redis",
                                 "math",     "string", "table", "tonumber", "unpack", "type", "pairs",  "tostring",
                                 "ipairs",   "error",  "next",  "select"};
  std::set<std::string> found;
  int in_braces = 0;
  const std::vector<std::string> tokens = tokens_of(bare(lua));
  const auto declare_from = [&](std::size_t i) {
    for (; is_name(tokens[i]); i += 2) {
      known.insert(tokens[i]);
      if (tokens[i + 1] != ",") break;
    }
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "local") declare_from(tokens[i + 1] == "function" ? i + 2 : i + 1);
    if (token == "for") declare_from(i + 1);
    if (token == "function") declare_from(tokens[i + 1] == "(" ? i + 2 : i + 3);
    in_braces += (token == "{") - (token == "}");
    const bool member = i > 0 && (tokens[i - 1] == "." || tokens[i - 1] == ":");
    const bool key = in_braces > 0 && tokens[i + 1] == "=" && tokens[i + 2] != "=";
    if (is_name(token) && !member && !key && !known.contains(token)) found.insert(token);
  }
  return found;
}

TEST(UndeclaredTest, FindsWhatItIsMeantToFind) {
  EXPECT_THAT(undeclared("x = 1"), ElementsAre("x"));
  EXPECT_THAT(undeclared("local x = 1 if x then y = x end"), ElementsAre("y"));
  EXPECT_THAT(undeclared("return typo(1)"), ElementsAre("typo"));
  EXPECT_THAT(undeclared("helper() local function helper() end"), ElementsAre("helper"));
  EXPECT_THAT(undeclared("function helper() end"), ElementsAre("helper"));
}

TEST(UndeclaredTest, LeavesTheRestAlone) {
  EXPECT_THAT(
      undeclared("local a, b = 1, 'not \\' me' -- nor me\nlocal function f(c, d) return a.e, {g = b, c} end\n"
                 "for i, v in ipairs(ARGV) do f(i, v) end for n = 1, 2 do f(function(z) return z == n end) end"),
      IsEmpty());
}

TEST(RedisScriptTest, ItsHashIsWhatTheServerWouldCompute) {
  EXPECT_EQ(Script({"return 1"}).text, "return 1\n");
  EXPECT_EQ(Script({"return 1"}).sha1, "48df9b519ca145c867b895f740b37bd891e887af");
  EXPECT_EQ(Script({"local x = 2", "return x"}).text, "local x = 2\nreturn x\n");
  EXPECT_EQ(Script({"local x = 2", "return x"}).sha1, "0c0ca2e2fcf137c4310560514498200c4a0b1f6e");
}

TEST(RedisScriptTest, EachHasAHashOfItsOwn) {
  std::set<std::string> hashes = {meta_script().sha1};
  for (const auto& [name, script] : scripts()) {
    EXPECT_THAT(script->sha1, MatchesRegex("[0-9a-f]{40}")) << name;
    EXPECT_EQ(script->sha1, Script({script->text.substr(0, script->text.size() - 1)}).sha1) << name;
    hashes.insert(script->sha1);
  }
  EXPECT_EQ(hashes.size(), scripts().size() + 1);
}

TEST(RedisScriptTest, EachBeginsWithTheLookAtTheEpoch) {
  const std::string& first = queue_scripts().look.text;
  const std::string last_line = "if epoch ~= ARGV[2] then return {'stale'} end\n";
  const std::string beginning = first.substr(0, first.find(last_line) + last_line.size());
  ASSERT_THAT(beginning, HasSubstr(last_line));
  for (const auto& [name, script] : scripts()) EXPECT_THAT(script->text, StartsWith(beginning)) << name;
}

// A script that is only to be known is run without keys.
TEST(RedisScriptTest, EachDoesNothingWithoutAKey) {
  for (const auto& [name, script] : scripts()) {
    const std::string code = bare(script->text);
    const std::size_t way_out = code.find("if #KEYS == 0 then return end");
    ASSERT_NE(way_out, std::string::npos) << name;
    EXPECT_EQ(code.find_first_not_of(" \n"), way_out) << name;
  }
}

TEST(RedisScriptTest, NoneUsesANameThatNobodyHasDeclared) {
  EXPECT_THAT(undeclared(meta_script().text), IsEmpty());
  for (const auto& [name, script] : scripts()) EXPECT_THAT(undeclared(script->text), IsEmpty()) << name;
}

}  // namespace
}  // namespace pawl::store::redis
