#include "tests/embedded_redis/census.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>

namespace pawl::test::embedded {

namespace {

std::string text_in(const Hash& hash, std::string_view field) {
  const auto found = hash.find(field);
  return found != hash.end() ? found->second : std::string();
}

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::uint64_t whole(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

std::vector<std::uint32_t> slots_of(const std::string& text) {
  std::vector<std::uint32_t> slots;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find(',', begin) + 1) {
    slots.push_back(static_cast<std::uint32_t>(whole(text.substr(begin))));
    if (text.find(',', begin) == std::string::npos) break;
  }
  return slots;
}

}  // namespace

Census::Census(Keyspace& keys, std::string prefix, std::string_view scheme)
    : keys_(keys), prefix_(std::move(prefix)), scheme_(scheme) {}

template <class T>
const T* Census::find(const std::string& key) {
  Keyspace::Entry* entry = keys_.find(prefix_ + key);
  return entry != nullptr ? std::get_if<T>(&entry->value) : nullptr;
}

std::optional<double> Census::end_of(const std::string& session) {
  const auto* ends = find<SortedSet>("ends");
  if (ends == nullptr) return std::nullopt;
  const auto found = ends->scores.find("s" + session);
  return found != ends->scores.end() ? std::optional(found->second) : std::nullopt;
}

bool Census::lives(const std::string& session) {
  return end_of(session).value_or(0) > static_cast<double>(keys_.milliseconds());
}

std::optional<std::int64_t> Census::next_end() {
  const auto* ends = find<SortedSet>("ends");
  if (ends == nullptr || ends->order.empty()) return std::nullopt;
  return static_cast<std::int64_t>(ends->order.begin()->first);
}

std::vector<std::string> Census::names(const std::string& start) {
  const std::string whole_start = prefix_ + start;
  std::vector<std::string> found;
  const auto& all = keys_.keys();
  for (auto one = all.lower_bound(whole_start); one != all.end() && one->first.starts_with(whole_start); ++one) {
    found.push_back(one->first.substr(whole_start.size()));
  }
  return found;
}

std::size_t Census::count(const std::string& start) { return names(start).size(); }

ClaimView Census::view(const std::string& id, const Hash& claim) {
  ClaimView view;
  view.claim = id;
  view.mode = text_in(claim, "m") == "s" ? Mode::shared : Mode::exclusive;
  view.owner.label = text_in(claim, "b");
  const Hash* session = find<Hash>("s:" + text_in(claim, "s"));
  if (view.owner.label.empty() && session != nullptr) view.owner.label = text_in(*session, "label");
  if (!text_in(claim, "t").empty()) view.token = Token(whole(text_in(claim, "e")), whole(text_in(claim, "t")));
  view.slots = slots_of(text_in(claim, "p"));
  view.permits = static_cast<std::uint32_t>(whole(text_in(claim, "w")));
  view.value = text_in(claim, "v");
  return view;
}

LockView Census::queue_view(const std::string& lock) {
  LockView seen;
  seen.kind = parse_kind(lock.substr(0, lock.find(':'))).value();
  seen.scheme = scheme_;
  seen.name = text_in(*find<Hash>("l:" + lock), "n");
  for (const auto& [table, views] : {std::pair{"h:", &seen.holders}, std::pair{"q:", &seen.waiters}}) {
    const auto* line = find<SortedSet>(table + lock);
    if (line == nullptr) continue;
    for (const auto& [ticket, id] : line->order) {
      const Hash* record = claim(id);
      if (record != nullptr && lives(text_in(*record, "s"))) views->push_back(view(id, *record));
    }
  }
  return seen;
}

bool Census::has_its_key(const std::string& id, const Hash& claim) {
  Keyspace::Entry* entry = keys_.find(text_in(claim, "key"));
  if (entry == nullptr) return false;
  const auto* owner = std::get_if<std::string>(&entry->value);
  const auto* fields = std::get_if<Hash>(&entry->value);
  return owner != nullptr ? *owner == id : fields != nullptr && fields->contains(text_in(claim, "f"));
}

std::vector<LockView> Census::key_views() {
  std::map<std::string, LockView> locks;
  for (const std::string& id : names("c:")) {
    const Hash& record = *claim(id);
    if (!lives(text_in(record, "s"))) continue;
    LockView& lock = locks[text_in(record, "n")];
    lock.name = text_in(record, "n");
    lock.scheme = scheme_;
    const bool holds = !text_in(record, "t").empty() && has_its_key(id, record);
    (holds ? lock.holders : lock.waiters).push_back(view(id, record));
  }
  std::vector<LockView> all;
  for (auto& [name, lock] : locks) all.push_back(std::move(lock));
  return all;
}

std::vector<LockView> Census::locks() {
  if (scheme_ != "queue") return key_views();
  std::vector<LockView> all;
  for (const std::string& lock : names("l:")) all.push_back(queue_view(lock));
  return all;
}

Census::Complaint Census::complaint() {
  for (const std::string& session : names("s:")) {
    if (auto complaint = check_session(session)) return complaint;
  }
  for (const std::string& id : names("c:")) {
    if (auto complaint = check_claim(id)) return complaint;
  }
  for (const std::string& lock : names("l:")) {
    if (auto complaint = check_lock(lock)) return complaint;
  }
  for (const std::string& key : names(scheme_ + ":")) {
    if (!keys_.find(prefix_ + scheme_ + ":" + key)->ends) return "the key of " + key + " has no end";
  }
  return {};
}

Census::Complaint Census::check_session(const std::string& session) {
  const auto ends = end_of(session);
  if (!ends) return "the record of session " + session + " stays, and it is not known when it ends";
  const double lease = number(text_in(*find<Hash>("s:" + session), "lease"));
  if (*ends > static_cast<double>(keys_.milliseconds()) + lease) {
    return fmt::format("session {} lives for {} ms more, and its lease is {} ms", session,
                       *ends - static_cast<double>(keys_.milliseconds()), lease);
  }
  for (const char* table : {"o:", "z:"}) {
    const auto* claims = find<Set>(table + session);
    if (claims == nullptr) continue;
    for (const std::string& id : *claims) {
      if (claim(id) == nullptr)
        return fmt::format("session {} keeps claim {}, of which there is no record", session, id);
    }
  }
  return {};
}

Census::Complaint Census::check_claim(const std::string& id) {
  const Hash& record = *claim(id);
  const std::string session = text_in(record, "s");
  const auto ends = end_of(session);
  if (!ends) return fmt::format("claim {} is left of session {}", id, session);
  const Hash* owner = find<Hash>("s:" + session);
  if (owner != nullptr && owner->contains("x" + id)) return fmt::format("claim {} was withdrawn, and is there", id);
  const auto listed = [&](const char* table) {
    const auto* claims = find<Set>(table + session);
    return claims != nullptr && claims->contains(id);
  };
  if (!listed("o:") && !listed("z:")) return fmt::format("session {} does not know its claim {}", session, id);
  const bool holds = !text_in(record, "t").empty();
  if (holds && number(text_in(record, "a")) > *ends) {
    return fmt::format("claim {} was granted when its session had ended", id);
  }
  return holds && scheme_ != "queue" ? check_key(id, record, *ends) : Complaint();
}

// It must outlast the session by the lock-delay.
Census::Complaint Census::check_key(const std::string& id, const Hash& claim, double session_ends) {
  if (!has_its_key(id, claim)) return {};
  const auto until = static_cast<double>(keys_.find(text_in(claim, "key"))->ends.value_or(0));
  if (until >= session_ends + number(text_in(claim, "d"))) return {};
  return fmt::format("the key of claim {} ends {} ms before its lock-delay", id,
                     session_ends + number(text_in(claim, "d")) - until);
}

Census::Complaint Census::check_lock(const std::string& lock) {
  const Hash& record = *find<Hash>("l:" + lock);
  const auto* holders = find<SortedSet>("h:" + lock);
  const auto* ghosts = find<SortedSet>("g:" + lock);
  const auto* bits = find<std::string>("b:" + lock);
  std::size_t exclusive = 0;
  for (const auto& [id, ticket] : holders != nullptr ? holders->scores : std::map<std::string, double, std::less<>>()) {
    const Hash* one = claim(id);
    if (one == nullptr) return fmt::format("{} is held by claim {}, of which there is no record", lock, id);
    exclusive += text_in(*one, "m") == "x";
  }
  std::size_t taken = 0;
  for (const char byte : bits != nullptr ? *bits : std::string())
    taken += std::bitset<8>(static_cast<unsigned char>(byte)).count();
  const auto differs = [&](std::string_view field, std::size_t counted) {
    return whole(text_in(record, field)) != counted;
  };
  const std::size_t held = holders != nullptr ? holders->scores.size() : 0;
  if (differs("h", held)) return fmt::format("{} has {} holders, and counts {}", lock, held, text_in(record, "h"));
  if (differs("x", exclusive))
    return fmt::format("{} has {} writers, and counts {}", lock, exclusive, text_in(record, "x"));
  if (differs("g", ghosts != nullptr ? ghosts->scores.size() : 0)) return lock + " miscounts its lock-delays";
  if (differs("u", taken))
    return fmt::format("{} has {} permits in use, and counts {}", lock, taken, text_in(record, "u"));
  return {};
}

}  // namespace pawl::test::embedded
