#include "tests/support/mysql_frames.hpp"

#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::test {

namespace {

constexpr std::size_t header_size = 4;  // three bytes of length, and a number that begins at 0 with each command
constexpr unsigned more_results = 0x0008;

enum Command : unsigned char { quit = 1, query = 3, prepare = 22, execute = 23, long_data = 24, close_statement = 25 };

std::uint64_t little(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

/// 0: it is not whole yet.
std::size_t packet_size(std::string_view bytes) {
  if (bytes.size() < header_size) return 0;
  const std::size_t size = header_size + little(bytes, 0, 3);
  return bytes.size() < size ? 0 : size;
}

/// Reads packets from the front, and remembers how far it is.
class Packets {
 public:
  explicit Packets(std::string_view bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  std::optional<std::string_view> next() {
    const std::size_t size = packet_size(bytes_.substr(at_));
    if (size == 0) return std::nullopt;
    const std::string_view content = bytes_.substr(at_ + header_size, size - header_size);
    at_ += size;
    return content;
  }
  bool skip(std::uint64_t count) {
    for (; count > 0; --count) {
      if (!next()) return false;
    }
    return true;
  }

 private:
  const std::string_view bytes_;
  std::size_t at_ = 0;
};

bool is(std::string_view content, unsigned char first) {
  return !content.empty() && static_cast<unsigned char>(content[0]) == first;
}
bool is_error(std::string_view content) { return is(content, 0xff); }
bool is_end(std::string_view content) { return is(content, 0xfe) && content.size() < 9; }

/// A number of one to nine bytes; `at` moves behind it.
std::uint64_t packed(std::string_view content, std::size_t& at) {
  const auto first = static_cast<unsigned char>(content.at(at++));
  const std::size_t size = first == 0xfc ? 2 : first == 0xfd ? 3 : first == 0xfe ? 8 : 0;
  if (size == 0) return first;
  at += size;
  return little(content, at - size, size);
}

unsigned status_of_ok(std::string_view content) {
  std::size_t at = 1;
  packed(content, at);
  packed(content, at);
  return static_cast<unsigned>(little(content, at, 2));
}

unsigned status_of_end(std::string_view content) { return static_cast<unsigned>(little(content, 3, 2)); }

/// False: there is more to come.
bool skip_results(Packets& packets) {
  for (;;) {
    const auto first = packets.next();
    if (!first) return false;
    if (is_error(*first)) return true;
    if (is(*first, 0)) {
      if ((status_of_ok(*first) & more_results) == 0) return true;
      continue;
    }
    std::size_t at = 0;
    const std::uint64_t columns = packed(*first, at);
    const bool described = at >= first->size() || (*first)[at] != 0;  // MariaDB leaves out what the client knows
    if (described && !packets.skip(columns)) return false;
    if (!packets.skip(1)) return false;
    auto row = packets.next();
    while (row && !is_end(*row) && !is_error(*row)) row = packets.next();
    if (!row) return false;
    if (is_error(*row) || (status_of_end(*row) & more_results) == 0) return true;
  }
}

/// False: there is more to come.
bool skip_prepared(Packets& packets, std::uint64_t& id) {
  const auto first = packets.next();
  if (!first) return false;
  if (is_error(*first)) return true;
  id = little(*first, 1, 4);
  for (const std::size_t at : {7, 5}) {  // of parameters, then of columns
    const std::uint64_t count = little(*first, at, 2);
    if (count > 0 && !packets.skip(count + 1)) return false;
  }
  return true;
}

std::string first_words(std::string_view statement) {
  std::string words;
  std::size_t spaces = 0;
  for (const char c : statement) {
    if (c == '(' || c == ';' || (std::isspace(static_cast<unsigned char>(c)) != 0 && ++spaces == 2)) break;
    words += c;
  }
  return words;
}

/// One connection.
struct Dialogue {
  bool begun = false;      // the login is over
  bool preparing = false;  // what was asked last
  std::string text = {};   // that is prepared
  std::map<std::uint64_t, std::string> statements = {};

  std::string name(std::string_view request) {
    if (request[3] != 0) return {};
    begun = true;
    const std::string_view content = request.substr(header_size);
    const auto command = static_cast<unsigned char>(content.at(0));
    preparing = command == prepare;
    switch (command) {
      case quit:
      case long_data:
      case close_statement: return {};
      case query: return first_words(content.substr(1));
      case prepare: text = first_words(content.substr(1)); return "prepare " + text;
      case execute: return statements[little(content, 1, 4)];
      default: return "command " + std::to_string(command);
    }
  }

  std::size_t reply(std::string_view bytes) {
    if (!begun) return packet_size(bytes);
    Packets packets(bytes);
    if (!preparing) return skip_results(packets) ? packets.at() : 0;
    std::uint64_t id = 0;
    if (!skip_prepared(packets, id)) return 0;
    statements[id] = text;
    return packets.at();
  }
};

}  // namespace

std::function<Framing()> mysql_framing() {
  return [] {
    const auto dialogue = std::make_shared<Dialogue>();
    Framing framing;
    framing.request = packet_size;
    framing.reply = [dialogue](std::string_view bytes) { return dialogue->reply(bytes); };
    framing.name = [dialogue](std::string_view request) { return dialogue->name(request); };
    framing.pushed = [dialogue](std::string_view) { return !dialogue->begun; };
    return framing;
  };
}

std::function<Framing()> mysql_framing_with_other_numbers() {
  return [framing_of_one = mysql_framing()] {
    Framing framing = framing_of_one();
    framing.rewrite = [greeted = false](std::string& reply) mutable {
      if (std::exchange(greeted, true)) return;
      const std::size_t number = reply.find('\0', header_size + 1) + 1;  // behind the server's version
      reply.at(number + 2) ^= 0x7f;
    };
    return framing;
  };
}

}  // namespace pawl::test
