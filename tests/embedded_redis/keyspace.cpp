#include "tests/embedded_redis/keyspace.hpp"

#include "tests/embedded_redis/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace pawl::test::embedded {

namespace {

const Command* find_command(const std::string& name) {
  if (const Command* found = find_key_command(name)) return found;
  if (const Command* found = find_collection_command(name)) return found;
  return find_sorted_command(name);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string Answer::shown() const {
  switch (type) {
    case Type::nil: return "nil";
    case Type::integer: return std::to_string(number);
    case Type::text: return "\"" + text + "\"";
    case Type::status: return "+" + text;
    case Type::error: return "-" + text;
    case Type::array: break;
  }
  std::string all = "[";
  for (const Answer& item : items) all += (all.size() > 1 ? " " : "") + item.shown();
  return all + "]";
}

bool Keyspace::knows(const std::string& command) { return find_command(command) != nullptr; }

Answer Keyspace::execute(const Arguments& words) {
  const Command* command = find_command(words[0]);
  if (command == nullptr) return Answer::error("ERR unknown command '" + words[0] + "'");
  const int count = static_cast<int>(words.size());
  if (command->words < 0 ? count < -command->words : count != command->words) {
    return Answer::error("ERR wrong number of arguments for '" + lower(words[0]) + "' command");
  }
  return command->run(*this, words);
}

Keyspace::Entry* Keyspace::find(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  if (!found->second.ends || *found->second.ends > milliseconds()) return &found->second;
  keys_.erase(found);
  return nullptr;
}

Keyspace::Entry& Keyspace::make(const std::string& key, Value value) {
  Entry& entry = keys_[key];
  entry = Entry{std::move(value), {}};
  return entry;
}

void Keyspace::erase_if_empty(const std::string& key) {
  const Entry* entry = find(key);
  if (entry == nullptr) return;
  const auto size = [](const auto& value) -> std::size_t {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, SortedSet>) return value.scores.size();
    if constexpr (std::is_same_v<T, std::string>) return 1;
    if constexpr (!std::is_same_v<T, SortedSet> && !std::is_same_v<T, std::string>) return value.size();
  };
  if (std::visit(size, entry->value) == 0) keys_.erase(key);
}

const std::map<std::string, Keyspace::Entry>& Keyspace::keys() {
  const std::int64_t now = milliseconds();
  std::erase_if(keys_, [&](const auto& one) { return one.second.ends && *one.second.ends <= now; });
  return keys_;
}

}  // namespace pawl::test::embedded
