// Sorted sets.

#include "tests/embedded_redis/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>

namespace pawl::test::embedded {

std::string shown_score(double score) {
  if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
  if (score == std::floor(score) && std::fabs(score) < 1e17) return fmt::format("{:.0f}", score + 0.0);
  return fmt::format("{:.17g}", score);
}

namespace {

Answer no_float() { return Answer::error("ERR value is not a valid float"); }

Answer zadd(Keyspace& keys, const Arguments& words) {
  if (words.size() % 2 != 0) return syntax_error();
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (!score_of(words[i])) return no_float();
  }
  SortedSet* set = need<SortedSet>(keys, words[1]);
  if (set == nullptr) return wrong_type();
  std::int64_t fresh = 0;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const double score = *score_of(words[i]);
    const auto [found, is_new] = set->scores.try_emplace(words[i + 1], score);
    if (!is_new) set->order.erase({found->second, found->first});
    found->second = score;
    set->order.emplace(score, found->first);
    fresh += is_new;
  }
  return Answer::of(fresh);
}

Answer zrem(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  std::int64_t gone = 0;
  for (std::size_t i = 2; set != nullptr && i < words.size(); ++i) {
    const auto found = set->scores.find(words[i]);
    if (found == set->scores.end()) continue;
    set->order.erase({found->second, found->first});
    set->scores.erase(found);
    ++gone;
  }
  keys.erase_if_empty(words[1]);
  return Answer::of(gone);
}

Answer zscore(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  if (set == nullptr) return {};
  const auto found = set->scores.find(words[2]);
  return found != set->scores.end() ? Answer::of(shown_score(found->second)) : Answer();
}

Answer zcard(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  return Answer::of(set != nullptr ? static_cast<std::int64_t>(set->scores.size()) : 0);
}

Answer zrank(Keyspace& keys, const Arguments& words) {
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  if (set == nullptr) return {};
  const auto found = set->scores.find(words[2]);
  if (found == set->scores.end()) return {};
  return Answer::of(std::distance(set->order.begin(), set->order.find({found->second, found->first})));
}

using Walk = std::set<std::pair<double, std::string>>::const_iterator;

Answer listed(Walk begin, Walk end, bool with_scores) {
  std::vector<Answer> all;
  for (; begin != end; ++begin) {
    all.push_back(Answer::of(begin->second));
    if (with_scores) all.push_back(Answer::of(shown_score(begin->first)));
  }
  return Answer::list(std::move(all));
}

// ZRANGE key start stop [WITHSCORES]
Answer zrange(Keyspace& keys, const Arguments& words) {
  const bool with_scores = words.size() == 5 && words[4] == "WITHSCORES";
  if (words.size() > 4 && !with_scores) return syntax_error();
  auto from = integer_of(words[2]);
  auto to = integer_of(words[3]);
  if (!from || !to) return no_integer();
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  if (set == nullptr) return Answer::list({});
  const auto size = static_cast<std::int64_t>(set->order.size());
  if (*from < 0) from = std::max<std::int64_t>(*from + size, 0);
  if (*to < 0) to = *to + size;
  to = std::min(*to, size - 1);
  if (*from > *to) return Answer::list({});
  return listed(std::next(set->order.begin(), *from), std::next(set->order.begin(), *to + 1), with_scores);
}

struct Bound {
  double score = 0;
  bool open = false;  ///< "(5": without it
};

std::optional<Bound> bound_of(std::string_view text) {
  const bool open = text.starts_with('(');
  const auto score = score_of(open ? text.substr(1) : text);
  if (!score) return std::nullopt;
  return Bound{*score, open};
}

// ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]
Answer zrangebyscore(Keyspace& keys, const Arguments& words) {
  const auto least = bound_of(words[2]);
  const auto most = bound_of(words[3]);
  if (!least || !most) return Answer::error("ERR min or max is not a float");
  bool with_scores = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (words[i] == "WITHSCORES") {
      with_scores = true;
    } else if (words[i] == "LIMIT" && i + 2 < words.size()) {
      const auto skipped = integer_of(words[i + 1]);
      const auto wanted = integer_of(words[i + 2]);
      if (!skipped || !wanted) return no_integer();
      offset = *skipped;
      count = *wanted;
      i += 2;
    } else {
      return syntax_error();
    }
  }
  const auto [set, wrong] = look<SortedSet>(keys, words[1]);
  if (wrong) return wrong_type();
  if (set == nullptr || offset < 0) return Answer::list({});
  const auto below = [&](double score) { return least->open ? score <= least->score : score < least->score; };
  const auto above = [&](double score) { return most->open ? score >= most->score : score > most->score; };
  auto begin = set->order.begin();
  while (begin != set->order.end() && below(begin->first)) ++begin;
  for (; offset > 0 && begin != set->order.end(); --offset) ++begin;
  auto end = begin;
  for (; end != set->order.end() && !above(end->first) && count != 0; ++end) --count;
  return listed(begin, end, with_scores);
}

}  // namespace

const Command* find_sorted_command(const std::string& name) {
  static const std::unordered_map<std::string, Command> commands = {
      {"ZADD", {zadd, -4}},
      {"ZREM", {zrem, -3}},
      {"ZSCORE", {zscore, 3}},
      {"ZCARD", {zcard, 2}},
      {"ZRANK", {zrank, 3}},
      {"ZRANGE", {zrange, -4}},
      {"ZRANGEBYSCORE", {zrangebyscore, -4}},
  };
  const auto found = commands.find(name);
  return found != commands.end() ? &found->second : nullptr;
}

}  // namespace pawl::test::embedded
