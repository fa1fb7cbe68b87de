#include "tests/embedded_redis/transitions.hpp"

#include <algorithm>
#include <utility>

namespace pawl::test::embedded {

std::set<std::string> Transitions::members(const std::string& start) {
  std::set<std::string> all;
  const auto& keys = keys_.keys();
  for (auto one = keys.lower_bound(prefix_ + start); one != keys.end() && one->first.starts_with(prefix_ + start);
       ++one) {
    const auto* line = std::get_if<SortedSet>(&one->second.value);
    if (line == nullptr) continue;
    for (const auto& [id, ticket] : line->scores) all.insert(id);
  }
  return all;
}

std::optional<std::string> Transitions::look(const Arguments& words, const std::vector<std::string>& letters) {
  auto unheard = check_letters(words, letters);
  auto revived = check_sessions();
  return unheard ? unheard : revived;
}

std::optional<std::string> Transitions::check_sessions() {
  const Keyspace::Entry* entry = keys_.find(prefix_ + "ends");
  const auto* ends = entry != nullptr ? std::get_if<SortedSet>(&entry->value) : nullptr;
  const auto before = std::exchange(ends_, ends != nullptr ? ends->scores : decltype(ends_)());
  if (before == ends_) return std::nullopt;
  const auto now = static_cast<double>(keys_.milliseconds());
  for (const auto& [what, end] : before) {
    const auto after = ends_.find(what);
    const bool lives_again = what.starts_with('s') && end <= now && after != ends_.end() && after->second > now;
    if (lives_again) return "session " + what.substr(1) + " had ended, and lives again";
  }
  return std::nullopt;
}

std::optional<std::string> Transitions::check_letters(const Arguments& words, const std::vector<std::string>& letters) {
  const std::set<std::string> before = std::exchange(waiting_, members("q:"));
  if (before == waiting_) return std::nullopt;
  for (const std::string& holder : members("h:")) {
    const bool asked_itself = std::find(words.begin(), words.end(), holder) != words.end();
    if (!before.contains(holder) || asked_itself) continue;
    const bool told = std::any_of(letters.begin(), letters.end(), [&](const std::string& letter) {
      return letter.find(holder + " granted ") != std::string::npos || letter.ends_with(holder + " again");
    });
    if (!told) return "claim " + holder + " was granted, and its client was not told";
  }
  return std::nullopt;
}

}  // namespace pawl::test::embedded
