#include "tests/support/socks_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace pawl::test {

namespace {

using namespace std::string_view_literals;

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{1, 0};  // a process that stands still may have no room for one more
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    make_quick(fd);
    return fd;
  }
  ::close(fd);
  return -1;
}

/// Adds what is there. False: the other side has gone.
bool read_some(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (size > 0) into.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

/// As much as goes. False: the other side has gone.
bool write_some(int fd, std::string& from) {
  if (from.empty()) return true;
  const ssize_t size = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
  if (size > 0) from.erase(0, static_cast<std::size_t>(size));
  return size >= 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace

/// A connection of the program. Its life: greets, says where it wants to go, is connected.
struct SocksProxy::Link {
  explicit Link(int fd) : client(fd) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    ::close(client);
    if (server >= 0) ::close(server);
  }

  void talk();
  bool take_greeting();
  bool take_wish();
  void connect();
  void forward();
  short client_wants() const;
  short server_wants() const;

  const int client;
  int server = -1;
  std::uint16_t target = 0;  // none: it has not said yet
  bool greeted = false;
  bool over = false;
  std::string to_server = {}, to_client = {};
};

/// The steps of SOCKS before the first byte of its own.
void SocksProxy::Link::talk() {
  if (target == 0) over = !read_some(client, to_server);
  if (!greeted) greeted = take_greeting();
  if (greeted && target == 0) over = !take_wish() || over;
  if (!write_some(client, to_client)) over = true;
}

/// Version, how many methods, the methods. We take "none".
bool SocksProxy::Link::take_greeting() {
  if (to_server.size() < 2) return false;
  const std::size_t size = 2 + static_cast<unsigned char>(to_server[1]);
  if (to_server.size() < size) return false;
  to_server.erase(0, size);
  to_client += "\x05\x00"sv;
  return true;
}

/// Version, connect, 0, IPv4, its four bytes, and the port. False: it wants something else.
bool SocksProxy::Link::take_wish() {
  constexpr std::size_t size = 10;
  if (to_server.size() < size) return true;
  if (!to_server.starts_with("\x05\x01\x00\x01"sv)) return false;
  const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(to_server[at]); };
  target = static_cast<std::uint16_t>(byte(8) << 8 | byte(9));
  to_server.erase(0, size);
  return true;
}

void SocksProxy::Link::connect() {
  server = connect_to(target);
  const bool refused = server < 0;
  to_client += (refused ? "\x05\x05"sv : "\x05\x00"sv);
  to_client += "\x00\x01\x7f\x00\x00\x01\x00\x00"sv;
  if (!refused) return;
  write_some(client, to_client);
  over = true;
}

/// More is read only when the last has gone on: so the end of a connection comes after its last byte.
void SocksProxy::Link::forward() {
  if (to_server.empty() && !read_some(client, to_server)) over = true;
  if (to_client.empty() && !read_some(server, to_client)) over = true;
  if (!write_some(server, to_server) || !write_some(client, to_client)) over = true;
}

short SocksProxy::Link::client_wants() const {
  const bool reads = target == 0 || (server >= 0 && to_server.empty());
  return static_cast<short>((reads ? POLLIN : 0) | (to_client.empty() ? 0 : POLLOUT));
}

short SocksProxy::Link::server_wants() const {
  return static_cast<short>((to_client.empty() ? POLLIN : 0) | (to_server.empty() ? 0 : POLLOUT));
}

SocksProxy::SocksProxy() {
  make_quick(listener_.fd());
  thread_ = std::thread([this] { run(); });
}

SocksProxy::~SocksProxy() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  bell_.ring();
  thread_.join();
}

void SocksProxy::silence(std::set<std::uint16_t> ports) {
  {
    const std::lock_guard lock(mutex_);
    silent_ = std::move(ports);
  }
  bell_.ring();
}

bool SocksProxy::is_silent(const Link& link) const { return silent_.contains(link.target); }

void SocksProxy::run() {
  std::unique_lock lock(mutex_);
  std::vector<pollfd> polled;
  while (!over_) {
    fill(polled);
    lock.unlock();
    ::poll(polled.data(), polled.size(), -1);
    lock.lock();
    bell_.hear();
    // They are few, and no socket blocks: it does no harm to try them all.
    for (Link& link : links_) serve(link);
    links_.remove_if([](const Link& link) { return link.over; });
    accept_all();
  }
  links_.clear();
}

void SocksProxy::fill(std::vector<pollfd>& polled) const {
  polled.assign({pollfd{bell_.fd(), POLLIN, 0}, pollfd{listener_.fd(), POLLIN, 0}});
  for (const Link& link : links_) {
    if (is_silent(link)) continue;
    polled.push_back({link.client, link.client_wants(), 0});
    if (link.server >= 0) polled.push_back({link.server, link.server_wants(), 0});
  }
}

void SocksProxy::accept_all() {
  for (int client = 0; (client = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    make_quick(client);
    links_.emplace_back(client);
  }
}

void SocksProxy::serve(Link& link) {
  if (link.target == 0) link.talk();
  if (link.over || link.target == 0 || is_silent(link)) return;
  if (link.server < 0) link.connect();
  if (!link.over) link.forward();
}

}  // namespace pawl::test
