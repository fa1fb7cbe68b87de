// Keys, strings, bitmaps, time, messages.

#include "tests/embedded_redis/values.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace pawl::test::embedded {

namespace {

Answer del(Keyspace& keys, const Arguments& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (keys.find(words[i]) == nullptr) continue;
    keys.erase(words[i]);
    ++count;
  }
  return Answer::of(count);
}

Answer exists(Keyspace& keys, const Arguments& words) {
  return Answer::of(
      std::count_if(words.begin() + 1, words.end(), [&](const std::string& key) { return keys.find(key) != nullptr; }));
}

Answer get(Keyspace& keys, const Arguments& words) {
  const auto [text, wrong] = look<std::string>(keys, words[1]);
  if (wrong) return wrong_type();
  return text != nullptr ? Answer::of(*text) : Answer();
}

// SET key value [NX] [PX milliseconds]
Answer set(Keyspace& keys, const Arguments& words) {
  bool only_new = false;
  std::optional<std::int64_t> lasts;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "NX") {
      only_new = true;
    } else if (words[i] == "PX" && i + 1 < words.size()) {
      lasts = integer_of(words[++i]);
      if (!lasts) return no_integer();
      if (*lasts <= 0) return Answer::error("ERR invalid expire time in 'set' command");
    } else {
      return syntax_error();
    }
  }
  if (only_new && keys.find(words[1]) != nullptr) return {};
  Keyspace::Entry& entry = keys.make(words[1], words[2]);
  if (lasts) entry.ends = keys.milliseconds() + *lasts;
  return Answer::ok();
}

Answer pexpire(Keyspace& keys, const Arguments& words) {
  const auto lasts = integer_of(words[2]);
  if (!lasts) return no_integer();
  Keyspace::Entry* entry = keys.find(words[1]);
  if (entry == nullptr) return Answer::of(0);
  entry->ends = keys.milliseconds() + *lasts;
  if (*lasts <= 0) keys.erase(words[1]);
  return Answer::of(1);
}

Answer persist(Keyspace& keys, const Arguments& words) {
  Keyspace::Entry* entry = keys.find(words[1]);
  if (entry == nullptr || !entry->ends) return Answer::of(0);
  entry->ends.reset();
  return Answer::of(1);
}

Answer pttl(Keyspace& keys, const Arguments& words) {
  const Keyspace::Entry* entry = keys.find(words[1]);
  if (entry == nullptr) return Answer::of(-2);
  return Answer::of(entry->ends ? *entry->ends - keys.milliseconds() : -1);
}

// The first bit is the highest one of the first byte.
Answer setbit(Keyspace& keys, const Arguments& words) {
  const auto at = integer_of(words[2]);
  if (!at || *at < 0) return Answer::error("ERR bit offset is not an integer or out of range");
  if (words[3] != "0" && words[3] != "1") return Answer::error("ERR bit is not an integer or out of range");
  std::string* bits = need<std::string>(keys, words[1]);
  if (bits == nullptr) return wrong_type();
  const auto byte = static_cast<std::size_t>(*at / 8);
  const unsigned mask = 0x80U >> (*at % 8);
  if (bits->size() <= byte) bits->resize(byte + 1, '\0');
  const auto before = static_cast<unsigned char>((*bits)[byte]);
  (*bits)[byte] = static_cast<char>(words[3] == "1" ? before | mask : before & ~mask);
  return Answer::of((before & mask) != 0 ? 1 : 0);
}

// BITPOS key bit
Answer bitpos(Keyspace& keys, const Arguments& words) {
  if (words[2] != "0" && words[2] != "1") return Answer::error("ERR The bit argument must be 1 or 0.");
  const bool wanted = words[2] == "1";
  const auto [bits, wrong] = look<std::string>(keys, words[1]);
  if (wrong) return wrong_type();
  if (bits == nullptr) return Answer::of(wanted ? -1 : 0);
  for (std::size_t i = 0; i < bits->size() * 8; ++i) {
    const bool bit = (static_cast<unsigned char>((*bits)[i / 8]) & (0x80U >> (i % 8))) != 0;
    if (bit == wanted) return Answer::of(static_cast<std::int64_t>(i));
  }
  const bool none = wanted || bits->empty();
  return Answer::of(none ? -1 : static_cast<std::int64_t>(bits->size() * 8));
}

Answer time(Keyspace& keys, const Arguments&) {
  const std::uint64_t micros = keys.micros();
  return Answer::list({Answer::of(std::to_string(micros / 1'000'000)), Answer::of(std::to_string(micros % 1'000'000))});
}

Answer publish(Keyspace& keys, const Arguments& words) {
  return Answer::of(keys.publish ? keys.publish(words[1], words[2]) : 0);
}

// SCAN cursor [MATCH pattern] [COUNT count]: everything at once.
Answer scan(Keyspace& keys, const Arguments& words) {
  std::string pattern = "*";
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    if (words[i] == "MATCH") pattern = words[i + 1];
  }
  std::vector<Answer> found;
  for (const auto& [key, entry] : keys.keys()) {
    if (::fnmatch(pattern.c_str(), key.c_str(), 0) == 0) found.push_back(Answer::of(key));
  }
  return Answer::list({Answer::of("0"), Answer::list(std::move(found))});
}

}  // namespace

const Command* find_key_command(const std::string& name) {
  static const std::unordered_map<std::string, Command> commands = {
      {"DEL", {del, -2}},        {"EXISTS", {exists, -2}},  {"GET", {get, 2}},         {"SET", {set, -3}},
      {"PEXPIRE", {pexpire, 3}}, {"PERSIST", {persist, 2}}, {"PTTL", {pttl, 2}},       {"SETBIT", {setbit, 4}},
      {"BITPOS", {bitpos, 3}},   {"TIME", {time, 1}},       {"PUBLISH", {publish, 3}}, {"SCAN", {scan, -2}},
  };
  const auto found = commands.find(name);
  return found != commands.end() ? &found->second : nullptr;
}

}  // namespace pawl::test::embedded
