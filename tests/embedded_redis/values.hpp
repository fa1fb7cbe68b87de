#pragma once

#include "tests/embedded_redis/keyspace.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::test::embedded {

inline Answer wrong_type() {
  return Answer::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}
inline Answer no_integer() { return Answer::error("ERR value is not an integer or out of range"); }
inline Answer syntax_error() { return Answer::error("ERR syntax error"); }

/// Redis takes digits with a minus at most: no plus, no blanks, no zeros in front.
inline std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && std::to_string(value) == text;
  return whole ? std::optional(value) : std::nullopt;
}

inline std::optional<double> score_of(std::string_view text) {
  if (text == "-inf") return -INFINITY;
  if (text == "+inf" || text == "inf") return INFINITY;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string shown_score(double score);

/// One kind of value under a key: nothing there, or of another kind.
template <class T>
struct Found {
  T* value = nullptr;
  bool wrong = false;
};

template <class T>
Found<T> look(Keyspace& keys, const std::string& key) {
  Keyspace::Entry* entry = keys.find(key);
  if (entry == nullptr) return {};
  T* value = std::get_if<T>(&entry->value);
  return {value, value == nullptr};
}

/// Makes it, if need be; null: something else is there.
template <class T>
T* need(Keyspace& keys, const std::string& key) {
  Keyspace::Entry* entry = keys.find(key);
  if (entry == nullptr) entry = &keys.make(key, T());
  return std::get_if<T>(&entry->value);
}

/// A command: what it does, and how many words it has, its name among them; negative: or more.
struct Command {
  Answer (*run)(Keyspace&, const Arguments&);
  int words;
};

const Command* find_key_command(const std::string& name);
const Command* find_collection_command(const std::string& name);
const Command* find_sorted_command(const std::string& name);

}  // namespace pawl::test::embedded
