#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::test::embedded {

/// What a command answers.
struct Answer {
  enum class Type : std::uint8_t { nil, integer, text, status, error, array } type = Type::nil;
  std::int64_t number = 0;
  std::string text = {};
  std::vector<Answer> items = {};

  static Answer of(std::int64_t number) { return {.type = Type::integer, .number = number}; }
  static Answer of(std::string text) { return {.type = Type::text, .text = std::move(text)}; }
  static Answer list(std::vector<Answer> items) { return {.type = Type::array, .items = std::move(items)}; }
  static Answer ok() { return {.type = Type::status, .text = "OK"}; }
  static Answer error(std::string text) { return {.type = Type::error, .text = std::move(text)}; }

  bool is_error() const { return type == Type::error; }
  /// For people and for comparisons: one line.
  std::string shown() const;

  friend bool operator==(const Answer&, const Answer&) = default;
};

using Arguments = std::vector<std::string>;

/// Members by score, equal scores by their bytes.
struct SortedSet {
  std::map<std::string, double, std::less<>> scores = {};
  std::set<std::pair<double, std::string>> order = {};
};

using Hash = std::map<std::string, std::string, std::less<>>;
using List = std::deque<std::string>;
using Set = std::set<std::string, std::less<>>;

/// The data of a Redis server, as far as pawl's scripts use it: their commands with the answers and the errors of Redis 7,
/// and keys that end with the time. Every command answers what redis-server answers, or is not there: a test compares
/// them (tests/embedded_redis/differential_test.cpp).
/// Limit: collections are small: SSCAN and SCAN answer everything at once. SPOP and SRANDMEMBER choose by `random`.
class Keyspace {
 public:
  using Value = std::variant<std::string, Hash, List, Set, SortedSet>;
  struct Entry {
    Value value = {};
    std::optional<std::int64_t> ends = {};  ///< in ms
  };
  /// Who is told: channel and message. Answers how many there were.
  using Publish = std::function<std::int64_t(const std::string&, const std::string&)>;

  /// `micros`: since 1970, by the server's clock.
  Keyspace(std::function<std::uint64_t()> micros, std::function<std::uint64_t()> random)
      : micros_(std::move(micros)), random_(std::move(random)) {}

  /// One command, its name in capitals.
  Answer execute(const Arguments& words);
  static bool knows(const std::string& command);

  void clear() { keys_.clear(); }
  /// Without the keys whose time is over.
  const std::map<std::string, Entry>& keys();
  std::int64_t milliseconds() const { return static_cast<std::int64_t>(micros_() / 1000); }
  std::uint64_t random() { return random_(); }
  Publish publish = {};

  /// For the commands. Null where there is no such key.
  Entry* find(const std::string& key);
  Entry& make(const std::string& key, Value value);
  void erase(const std::string& key) { keys_.erase(key); }
  /// A collection that has nothing in it any more is no key.
  void erase_if_empty(const std::string& key);
  std::uint64_t micros() const { return micros_(); }

 private:
  const std::function<std::uint64_t()> micros_;
  const std::function<std::uint64_t()> random_;
  std::map<std::string, Entry> keys_;
};

}  // namespace pawl::test::embedded
