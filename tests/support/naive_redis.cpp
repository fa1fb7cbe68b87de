#include "tests/support/naive_redis.hpp"

#include "tests/support/socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace pawl::test::naive {

Redis::Redis(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  const timeval hang{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &hang, sizeof hang);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd_);
    throw std::runtime_error("no server on port " + std::to_string(port));
  }
}

Redis::~Redis() { ::close(fd_); }

std::optional<std::string> Redis::call(const std::vector<std::string>& words) {
  std::string question = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) question += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  if (::send(fd_, question.data(), question.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(question.size())) {
    throw std::runtime_error("the server is gone");
  }
  const std::string head = line();
  if (head.starts_with('+') || head.starts_with(':')) return head.substr(1);
  if (!head.starts_with('$')) throw std::runtime_error(head);
  if (head == "$-1") return std::nullopt;
  const std::size_t size = std::stoul(head.substr(1));
  return bytes(size + 2).substr(0, size);
}

std::int64_t Redis::number(const std::vector<std::string>& words) { return std::stoll(call(words).value()); }

void Redis::receive() {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (size <= 0) throw std::runtime_error("the server does not answer");
  rest_.append(buffer.data(), static_cast<std::size_t>(size));
}

std::string Redis::line() {
  while (rest_.find("\r\n") == std::string::npos) receive();
  std::string line = rest_.substr(0, rest_.find("\r\n"));
  rest_.erase(0, line.size() + 2);
  return line;
}

std::string Redis::bytes(std::size_t size) {
  while (rest_.size() < size) receive();
  std::string taken = rest_.substr(0, size);
  rest_.erase(0, size);
  return taken;
}

}  // namespace pawl::test::naive
