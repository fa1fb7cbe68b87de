#include "store/record.hpp"

#include "base/lock_name.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>

namespace pawl::store {

namespace {

constexpr std::string_view magic = "pawl1";

std::uint64_t whole(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::uint64_t milliseconds(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

Duration from_milliseconds(std::uint64_t value) {
  constexpr auto longest = static_cast<std::uint64_t>(std::chrono::hours(24 * 365) / std::chrono::milliseconds(1));
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(value, longest)));
}

std::string joined(const Slots& slots) {
  std::string text;
  for (const std::uint32_t slot : slots) text += (text.empty() ? "" : ".") + std::to_string(slot);
  return text;
}

Slots split(const std::string& text) {
  Slots slots;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '.');) slots.push_back(static_cast<std::uint32_t>(whole(part)));
  return slots;
}

void put_owner(Words& words, const Owner& owner) {
  if (!owner.host.empty()) words.put("host", owner.host);
  if (owner.pid != 0) words.put("pid", static_cast<std::uint64_t>(owner.pid));
  if (!owner.label.empty()) words.put("label", owner.label);
}

Owner owner_of(const Words& words) {
  Owner owner;
  owner.host = words.text("host");
  owner.pid = static_cast<std::int64_t>(words.number("pid"));
  owner.label = words.text("label");
  return owner;
}

}  // namespace

std::optional<Words> Words::parse(std::string_view text) {
  std::istringstream parts{std::string(text)};
  std::string part;
  if (!std::getline(parts, part, ' ') || part != magic) return std::nullopt;
  Words words;
  while (std::getline(parts, part, ' ')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const std::string value = part.substr(equals + 1);
    Result<std::string> decoded = value.empty() ? Result<std::string>(std::string()) : base::decode_name(value);
    if (!decoded) return std::nullopt;
    words.words_[part.substr(0, equals)] = std::move(*decoded);
  }
  return words;
}

std::string Words::to_text() const {
  std::string text(magic);
  for (const auto& [key, value] : words_) {
    text += " " + key + "=" + base::encode_name(value);
  }
  return text;
}

void Words::put(const std::string& key, std::string_view value) { words_[key] = value; }

void Words::put(const std::string& key, std::uint64_t value) { words_[key] = std::to_string(value); }

std::string Words::text(const std::string& key) const {
  const auto found = words_.find(key);
  return found == words_.end() ? std::string() : found->second;
}

std::uint64_t Words::number(const std::string& key) const { return whole(text(key)); }

std::string Record::to_text() const {
  Words words;
  words.put("id", to_string(id));
  put_owner(words, owner);
  if (stage != Stage::waiting) words.put("stage", stage == Stage::held ? "held" : "failed");
  if (mode == Mode::shared) words.put("mode", "shared");
  if (permits.of != 0) {
    words.put("wanted", permits.wanted);
    words.put("of", permits.of);
  }
  if (!slots.empty()) words.put("slots", joined(slots));
  if (!value.empty()) words.put("value", value);
  words.put("lease", milliseconds(lease));
  if (since != 0) words.put("since", since);
  if (lock_delay > Duration::zero()) words.put("delay", milliseconds(lock_delay));
  words.put("epoch", epoch);
  if (token != Token()) words.put("token", token.to_string());
  if (!name.empty()) words.put("name", name);
  if (release_requested) words.put("release", "asked");
  return words.to_text();
}

std::optional<Record> Record::parse(std::string_view text) {
  const std::optional<Words> words = Words::parse(text);
  Record record;
  if (!words || !base::parse_hex(words->text("id"), record.id.high, record.id.low)) return std::nullopt;
  record.owner = owner_of(*words);
  if (words->has("stage")) record.stage = words->text("stage") == "held" ? Stage::held : Stage::failed;
  record.mode = words->has("mode") ? Mode::shared : Mode::exclusive;
  record.permits.wanted = static_cast<std::uint32_t>(words->number("wanted"));
  record.permits.of = static_cast<std::uint32_t>(words->number("of"));
  record.slots = split(words->text("slots"));
  record.value = words->text("value");
  record.lease = from_milliseconds(words->number("lease"));
  record.since = words->number("since");
  record.lock_delay = from_milliseconds(words->number("delay"));
  record.epoch = words->number("epoch");
  if (const Result<Token> token = Token::parse(words->text("token"))) record.token = *token;
  record.name = words->text("name");
  record.release_requested = words->has("release");
  return record;
}

std::string Notes::to_text() const {
  Words words;
  if (delayed) words.put("delayed", "yes");
  std::string text = words.to_text();
  for (const Reign& reign : reigns) {
    Words line;
    put_owner(line, reign.leader.owner);
    line.put("value", reign.leader.value);
    line.put("token", reign.leader.token.to_string());
    line.put("since", reign.since);
    if (reign.after_nobody) line.put("after", "nobody");
    text += "\n" + line.to_text();
  }
  return text;
}

Notes Notes::parse(std::string_view text) {
  Notes notes;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  const std::optional<Words> first = Words::parse(line);
  if (!first) {
    notes.foreign = !text.empty();
    return notes;
  }
  notes.delayed = first->has("delayed");
  while (std::getline(lines, line)) {
    const std::optional<Words> words = Words::parse(line);
    const Result<Token> token = words ? Token::parse(words->text("token")) : Result<Token>(Token());
    if (!words || !token) continue;
    Reign reign;
    reign.leader.owner = owner_of(*words);
    reign.leader.value = words->text("value");
    reign.leader.token = *token;
    reign.since = words->number("since");
    reign.after_nobody = words->has("after");
    notes.reigns.push_back(std::move(reign));
  }
  return notes;
}

}  // namespace pawl::store
