#include "tests/support/socket.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

int checked(int fd) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "a descriptor of the test");
  return fd;
}

template <class Address>
Socket bound(const Address& address, int family, int room) {
  Socket listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  const bool fine = ::bind(listener.fd(), plain, sizeof address) == 0 && ::listen(listener.fd(), room) == 0;
  if (!fine) throw std::system_error(errno, std::generic_category(), "the test cannot listen");
  return listener;
}

}  // namespace

Socket::Socket(int fd) : fd_(checked(fd)) {
  const timeval limit{60, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

std::uint16_t Socket::port() const {
  sockaddr_in6 address{};  // the port of both kinds is in the same place
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

Socket Socket::accept() const { return Socket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)); }

bool Socket::somebody_comes(std::chrono::milliseconds wait) const {
  pollfd polled{fd_, POLLIN, 0};
  return ::poll(&polled, 1, static_cast<int>(wait.count())) == 1;
}

std::string Socket::read() const {
  std::array<char, 65536> buffer;
  const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
  EXPECT_TRUE(size >= 0 || errno == ECONNRESET) << "nothing comes";
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void Socket::say(std::string_view bytes) const {
  EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Socket listen_on_tcp(int room) { return bound(loopback(0), AF_INET, room); }

Socket listen_on_tcp_v6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return bound(address, AF_INET6, 16);
}

Socket listen_on_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return bound(address, AF_UNIX, 16);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string ask(std::uint16_t port, std::string_view question, std::chrono::milliseconds patience) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval wait{patience / 1s, patience % 1s / 1us};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  const sockaddr_in address = loopback(port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) <= 0) return {};
  std::string heard;
  std::array<char, 4096> buffer;
  for (ssize_t size = 0; (size = ::recv(socket.fd(), buffer.data(), buffer.size(), 0)) > 0;) {
    heard.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return heard;
}

void make_quick(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Bell::Bell() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {}

Bell::~Bell() { ::close(fd_); }

void Bell::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(fd_, &one, sizeof one);
}

void Bell::hear() const {
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t heard = ::read(fd_, &rung, sizeof rung);
}

}  // namespace pawl::test
