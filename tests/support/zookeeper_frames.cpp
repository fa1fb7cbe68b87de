#include "tests/support/zookeeper_frames.hpp"

#include "tests/support/socket.hpp"

#include <chrono>
#include <map>
#include <stdexcept>
#include <utility>

namespace pawl::test {

namespace {

constexpr std::size_t word = 4;         // bytes of a number, and of a length
constexpr std::size_t header = word;    // the length of the message
constexpr std::int32_t connecting = 0;  // stands where later messages have their number
constexpr std::int32_t of_a_watch = -1;
constexpr std::int32_t check = 13;
constexpr std::int32_t multi = 14;
constexpr std::int32_t close_session = -11;
constexpr std::int64_t longest = 64 << 20;
constexpr std::size_t password_size = 16;

std::int64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  if (bytes.size() < at + size) return 0;
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(at, size)) value = value << 8 | static_cast<unsigned char>(byte);
  return size == word ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}

std::string bytes_of(std::int64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i > 0; --i) bytes += static_cast<char>(value >> (8 * (i - 1)));
  return bytes;
}

std::int32_t xid(std::string_view message) { return static_cast<std::int32_t>(number(message, header, word)); }

std::size_t whole(std::string_view bytes) {
  if (bytes.size() < header) return 0;
  const std::int64_t told = number(bytes, 0, word);
  // No length at all: after a broken connection, the client goes on in the middle of a message. Servers hang up on that.
  if (told < 0 || told > longest) return bytes.size();
  const std::size_t size = header + static_cast<std::size_t>(told);
  return bytes.size() < size ? 0 : size;
}

std::int32_t operation(std::string_view request) {
  return static_cast<std::int32_t>(number(request, header + word, word));
}

/// A text, or the bytes of a node: its length stands before it.
std::string_view text_at(std::string_view message, std::size_t at) {
  const std::int64_t size = number(message, at, word);
  if (size <= 0 || message.size() < at + word + static_cast<std::size_t>(size)) return {};
  return message.substr(at + word, static_cast<std::size_t>(size));
}

/// A multi that checks whether the root is there.
bool is_heartbeat(std::string_view request) {
  constexpr std::size_t first = header + 2 * word;
  constexpr std::size_t behind_header = first + word + 1 + word;
  return operation(request) == multi && number(request, first, word) == check && text_at(request, behind_header) == "/";
}

std::string name_of(std::string_view request) {
  if (xid(request) == connecting) return "connect";
  if (is_heartbeat(request)) return "heartbeat";
  static const std::map<std::int32_t, std::string> names{{1, "create"},
                                                         {2, "delete"},
                                                         {3, "exists"},
                                                         {4, "getData"},
                                                         {5, "setData"},
                                                         {8, "getChildren"},
                                                         {9, "sync"},
                                                         {11, "ping"},
                                                         {12, "getChildren2"},
                                                         {check, "check"},
                                                         {multi, "multi"},
                                                         {15, "create2"},
                                                         {100, "auth"},
                                                         {19, "createContainer"},
                                                         {101, "setWatches"},
                                                         {105, "setWatches2"},
                                                         {close_session, "closeSession"}};
  const auto found = names.find(operation(request));
  return found == names.end() ? "operation " + std::to_string(operation(request)) : found->second;
}

std::optional<ZooKeeperTicket> ticket_of(std::string_view reply) {
  if (xid(reply) != connecting) return std::nullopt;
  constexpr std::size_t behind_timeout = header + 2 * word;
  ZooKeeperTicket ticket{number(reply, behind_timeout, 8), std::string(text_at(reply, behind_timeout + 8))};
  if (ticket.session == 0) return std::nullopt;
  return ticket;
}

std::string framed(const std::string& message) {
  return bytes_of(static_cast<std::int64_t>(message.size()), word) + message;
}

}  // namespace

Framing zookeeper_framing(std::function<void(const ZooKeeperTicket&)> heard) {
  const auto pushed = [heard = std::move(heard)](std::string_view reply) {
    if (heard) {
      if (const auto ticket = ticket_of(reply)) heard(*ticket);
    }
    return xid(reply) == of_a_watch;
  };
  return Framing{.request = whole, .reply = whole, .name = name_of, .pushed = pushed, .number = xid};
}

std::string zookeeper_path(std::string_view request) {
  const std::string name = name_of(request);
  if (name == "connect" || name == "multi" || name == "heartbeat" || name.starts_with("setWatches")) return {};
  return std::string(text_at(request, header + 2 * word));
}

std::string zookeeper_data(std::string_view request) {
  const std::size_t before_first = name_of(request) == "multi" ? word + 1 + word : 0;  // what it is, and two marks
  const std::size_t path = header + 2 * word + before_first;
  return std::string(text_at(request, path + word + text_at(request, path).size()));
}

void end_zookeeper_session(std::uint16_t server, const ZooKeeperTicket& ticket) {
  const std::string attach =
      framed(bytes_of(0, word) + bytes_of(0, 8) + bytes_of(30'000, word) + bytes_of(ticket.session, 8) +
             bytes_of(password_size, word) + ticket.password + std::string(1, '\0'));
  const std::string close = framed(bytes_of(1, word) + bytes_of(close_session, word));
  // Its own client may come back in between, and end our connection. A session that is over is answered without an id.
  for (int i = 0; i < 1000; ++i) {
    const std::string heard = ask(server, attach + close, std::chrono::seconds(10));
    if (!heard.empty() && !ticket_of(heard)) return;
  }
  throw std::runtime_error("the session cannot be ended");
}

}  // namespace pawl::test
