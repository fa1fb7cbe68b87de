#include "tests/support/redis_frames.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace pawl::test {

namespace {

constexpr std::size_t none = std::string_view::npos;

/// Reads from the front, and remembers how far it is.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }

  /// Up to the next end of line, without it.
  std::optional<std::string_view> line() {
    const std::size_t end = bytes_.find("\r\n", at_);
    if (end == none) return std::nullopt;
    const std::string_view found = bytes_.substr(at_, end - at_);
    at_ = end + 2;
    return found;
  }
  std::optional<std::string_view> block(std::size_t size) {
    if (bytes_.size() < at_ + size + 2) return std::nullopt;
    const std::string_view found = bytes_.substr(at_, size);
    at_ += size + 2;
    return found;
  }

 private:
  const std::string_view bytes_;
  std::size_t at_ = 0;
};

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// False: there is more to come.
bool skip_reply(Cursor& cursor) {
  const std::optional<std::string_view> head = cursor.line();
  if (!head) return false;
  if (head->empty()) return true;
  const std::int64_t size = number(head->substr(1));
  if (head->front() == '$') return size < 0 || cursor.block(static_cast<std::size_t>(size)).has_value();
  if (head->front() != '*') return true;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!skip_reply(cursor)) return false;
  }
  return true;
}

std::size_t whole_reply(std::string_view bytes) {
  Cursor cursor(bytes);
  return skip_reply(cursor) ? cursor.at() : 0;
}

/// Of what waits for a subscriber, only this was not asked for.
bool is_message(std::string_view reply) { return reply.starts_with("*3\r\n$7\r\nmessage\r\n"); }

}  // namespace

std::vector<std::string> redis_words(std::string_view bytes) {
  Cursor cursor(bytes);
  const std::optional<std::string_view> head = cursor.line();
  if (!head || head->empty()) return {};
  std::vector<std::string> words;
  for (std::int64_t left = number(head->substr(1)); left > 0; --left) {
    const std::optional<std::string_view> size = cursor.line();
    if (!size || size->empty()) return {};
    const std::optional<std::string_view> word = cursor.block(static_cast<std::size_t>(number(size->substr(1))));
    if (!word) return {};
    words.emplace_back(*word);
  }
  return words;
}

Framing redis_framing(std::map<std::string, std::string> scripts) {
  const auto name = [scripts = std::move(scripts)](std::string_view request) {
    const std::vector<std::string> words = redis_words(request);
    if (words.empty()) return std::string();
    std::string command = words.front();
    std::transform(command.begin(), command.end(), command.begin(), [](unsigned char c) { return std::toupper(c); });
    if (words.size() < 2 || !command.starts_with("EVAL")) return command;
    if (words.size() > 2 && words[2] == "0") return command + " 0";
    const auto known = scripts.find(words[1]);
    return command + " " + (known == scripts.end() ? "?" : known->second);
  };
  // A request is an array of bulk strings: the same rules.
  return Framing{.request = whole_reply, .reply = whole_reply, .name = name, .pushed = is_message};
}

}  // namespace pawl::test
