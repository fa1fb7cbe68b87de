// Hashes, lists, sets.

#include "tests/embedded_redis/values.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>

namespace pawl::test::embedded {

namespace {

Answer text_or_nil(const Hash* hash, const std::string& field) {
  if (hash == nullptr) return {};
  const auto found = hash->find(field);
  return found != hash->end() ? Answer::of(found->second) : Answer();
}

Answer hget(Keyspace& keys, const Arguments& words) {
  const auto [hash, wrong] = look<Hash>(keys, words[1]);
  return wrong ? wrong_type() : text_or_nil(hash, words[2]);
}

Answer hmget(Keyspace& keys, const Arguments& words) {
  const auto [hash, wrong] = look<Hash>(keys, words[1]);
  if (wrong) return wrong_type();
  std::vector<Answer> values;
  for (std::size_t i = 2; i < words.size(); ++i) values.push_back(text_or_nil(hash, words[i]));
  return Answer::list(std::move(values));
}

Answer hset(Keyspace& keys, const Arguments& words) {
  if (words.size() % 2 != 0) return Answer::error("ERR wrong number of arguments for 'hset' command");
  Hash* hash = need<Hash>(keys, words[1]);
  if (hash == nullptr) return wrong_type();
  std::int64_t fresh = 0;
  for (std::size_t i = 2; i < words.size(); i += 2) fresh += hash->insert_or_assign(words[i], words[i + 1]).second;
  return Answer::of(fresh);
}

Answer hgetall(Keyspace& keys, const Arguments& words) {
  const auto [hash, wrong] = look<Hash>(keys, words[1]);
  if (wrong) return wrong_type();
  std::vector<Answer> all;
  if (hash != nullptr) {
    for (const auto& [field, value] : *hash) {
      all.push_back(Answer::of(field));
      all.push_back(Answer::of(value));
    }
  }
  return Answer::list(std::move(all));
}

Answer hkeys(Keyspace& keys, const Arguments& words) {
  const auto [hash, wrong] = look<Hash>(keys, words[1]);
  if (wrong) return wrong_type();
  std::vector<Answer> all;
  if (hash != nullptr) {
    for (const auto& [field, value] : *hash) all.push_back(Answer::of(field));
  }
  return Answer::list(std::move(all));
}

Answer hexists(Keyspace& keys, const Arguments& words) {
  const auto [hash, wrong] = look<Hash>(keys, words[1]);
  if (wrong) return wrong_type();
  return Answer::of(hash != nullptr && hash->contains(words[2]) ? 1 : 0);
}

Answer hincrby(Keyspace& keys, const Arguments& words) {
  const auto by = integer_of(words[3]);
  if (!by) return no_integer();
  Hash* hash = need<Hash>(keys, words[1]);
  if (hash == nullptr) return wrong_type();
  const auto found = hash->find(words[2]);
  const auto before = found != hash->end() ? integer_of(found->second) : std::optional<std::int64_t>(0);
  std::int64_t sum = 0;
  Answer answer;
  if (!before) {
    answer = Answer::error("ERR hash value is not an integer");
  } else if (__builtin_add_overflow(*before, *by, &sum)) {
    answer = Answer::error("ERR increment or decrement would overflow");
  } else {
    (*hash)[words[2]] = std::to_string(sum);
    answer = Answer::of(sum);
  }
  keys.erase_if_empty(words[1]);
  return answer;
}

Answer rpush(Keyspace& keys, const Arguments& words) {
  List* list = need<List>(keys, words[1]);
  if (list == nullptr) return wrong_type();
  list->insert(list->end(), words.begin() + 2, words.end());
  return Answer::of(static_cast<std::int64_t>(list->size()));
}

/// From the end, if negative.
std::int64_t place(std::int64_t at, std::size_t size) { return at < 0 ? at + static_cast<std::int64_t>(size) : at; }

Answer lindex(Keyspace& keys, const Arguments& words) {
  const auto at = integer_of(words[2]);
  const auto [list, wrong] = look<List>(keys, words[1]);
  if (wrong) return wrong_type();
  if (list == nullptr) return {};
  if (!at) return no_integer();
  const std::int64_t index = place(*at, list->size());
  if (index < 0 || index >= static_cast<std::int64_t>(list->size())) return {};
  return Answer::of((*list)[static_cast<std::size_t>(index)]);
}

Answer lset(Keyspace& keys, const Arguments& words) {
  const auto [list, wrong] = look<List>(keys, words[1]);
  if (wrong) return wrong_type();
  if (list == nullptr) return Answer::error("ERR no such key");
  const auto at = integer_of(words[2]);
  if (!at) return no_integer();
  const std::int64_t index = place(*at, list->size());
  if (index < 0 || index >= static_cast<std::int64_t>(list->size())) return Answer::error("ERR index out of range");
  (*list)[static_cast<std::size_t>(index)] = words[3];
  return Answer::ok();
}

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Range range(std::int64_t from, std::int64_t to, std::size_t size) {
  const std::int64_t begin = std::max<std::int64_t>(place(from, size), 0);
  const std::int64_t end = std::min<std::int64_t>(place(to, size) + 1, static_cast<std::int64_t>(size));
  if (begin >= end) return {};
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

Answer ltrim(Keyspace& keys, const Arguments& words) {
  const auto from = integer_of(words[2]);
  const auto to = integer_of(words[3]);
  if (!from || !to) return no_integer();
  const auto [list, wrong] = look<List>(keys, words[1]);
  if (wrong) return wrong_type();
  if (list == nullptr) return Answer::ok();
  const Range kept = range(*from, *to, list->size());
  *list = List(list->begin() + static_cast<std::ptrdiff_t>(kept.begin),
               list->begin() + static_cast<std::ptrdiff_t>(kept.end));
  keys.erase_if_empty(words[1]);
  return Answer::ok();
}

Answer lrange(Keyspace& keys, const Arguments& words) {
  const auto from = integer_of(words[2]);
  const auto to = integer_of(words[3]);
  if (!from || !to) return no_integer();
  const auto [list, wrong] = look<List>(keys, words[1]);
  if (wrong) return wrong_type();
  std::vector<Answer> all;
  const Range wanted = list != nullptr ? range(*from, *to, list->size()) : Range();
  for (std::size_t i = wanted.begin; i < wanted.end; ++i) all.push_back(Answer::of((*list)[i]));
  return Answer::list(std::move(all));
}

Answer sadd(Keyspace& keys, const Arguments& words) {
  Set* set = need<Set>(keys, words[1]);
  if (set == nullptr) return wrong_type();
  std::int64_t fresh = 0;
  for (std::size_t i = 2; i < words.size(); ++i) fresh += set->insert(words[i]).second;
  return Answer::of(fresh);
}

Answer srem(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<Set>(keys, words[1]);
  if (wrong) return wrong_type();
  std::int64_t gone = 0;
  for (std::size_t i = 2; set != nullptr && i < words.size(); ++i)
    gone += static_cast<std::int64_t>(set->erase(words[i]));
  keys.erase_if_empty(words[1]);
  return Answer::of(gone);
}

Answer scard(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<Set>(keys, words[1]);
  if (wrong) return wrong_type();
  return Answer::of(set != nullptr ? static_cast<std::int64_t>(set->size()) : 0);
}

Answer members(const Set* set) {
  std::vector<Answer> all;
  if (set != nullptr) {
    for (const std::string& member : *set) all.push_back(Answer::of(member));
  }
  return Answer::list(std::move(all));
}

Answer smembers(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<Set>(keys, words[1]);
  return wrong ? wrong_type() : members(set);
}

// SSCAN key cursor [COUNT count]: everything at once.
Answer sscan(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<Set>(keys, words[1]);
  if (wrong) return wrong_type();
  return Answer::list({Answer::of("0"), members(set)});
}

Set::iterator anyone(Keyspace& keys, Set& set) {
  return std::next(set.begin(), static_cast<std::ptrdiff_t>(keys.random() % set.size()));
}

Answer spop(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<Set>(keys, words[1]);
  if (wrong) return wrong_type();
  if (set == nullptr) return {};
  const auto chosen = anyone(keys, *set);
  Answer answer = Answer::of(*chosen);
  set->erase(chosen);
  keys.erase_if_empty(words[1]);
  return answer;
}

// SRANDMEMBER key count: different ones.
Answer srandmember(Keyspace& keys, const Arguments& words) {
  const auto count = integer_of(words[2]);
  if (!count || *count < 0) return no_integer();
  const auto [set, wrong] = look<Set>(keys, words[1]);
  if (wrong) return wrong_type();
  Set left = set != nullptr ? *set : Set();
  std::vector<Answer> chosen;
  while (!left.empty() && static_cast<std::int64_t>(chosen.size()) < *count) {
    const auto one = anyone(keys, left);
    chosen.push_back(Answer::of(*one));
    left.erase(one);
  }
  return Answer::list(std::move(chosen));
}

}  // namespace

const Command* find_collection_command(const std::string& name) {
  static const std::unordered_map<std::string, Command> commands = {
      {"HGET", {hget, 3}},
      {"HMGET", {hmget, -3}},
      {"HSET", {hset, -4}},
      {"HGETALL", {hgetall, 2}},
      {"HKEYS", {hkeys, 2}},
      {"HEXISTS", {hexists, 3}},
      {"HINCRBY", {hincrby, 4}},
      {"RPUSH", {rpush, -3}},
      {"LINDEX", {lindex, 3}},
      {"LSET", {lset, 4}},
      {"LTRIM", {ltrim, 4}},
      {"LRANGE", {lrange, 4}},
      {"SADD", {sadd, -3}},
      {"SREM", {srem, -3}},
      {"SCARD", {scard, 2}},
      {"SMEMBERS", {smembers, 2}},
      {"SSCAN", {sscan, -3}},
      {"SPOP", {spop, 2}},
      {"SRANDMEMBER", {srandmember, 3}},
  };
  const auto found = commands.find(name);
  return found != commands.end() ? &found->second : nullptr;
}

}  // namespace pawl::test::embedded
