#include "tests/support/proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <stdexcept>
#include <utility>

namespace pawl::test {

namespace {

const sockaddr* plain(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

int listen_at(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (::bind(fd, plain(address), sizeof address) == 0 && ::listen(fd, 1024) == 0) return fd;
  ::close(fd);
  throw std::runtime_error("the proxy cannot listen");
}

/// On the loopback address this is done at once, or refused.
int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, plain(address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  make_quick(fd);
  return fd;
}

/// All that is there. False: the other side has gone.
bool read_all(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (size > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(size));
      continue;
    }
    return size < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

/// As much as goes. False: the other side has gone.
bool write_some(int fd, std::string& from) {
  while (!from.empty()) {
    const ssize_t size = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    from.erase(0, static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

struct Proxy::Rule {
  Fault fault;
  Match match;
  std::size_t left;  // the one at which this is 1 meets the fault
};

/// A client's connection, and its counterpart at the server.
struct Proxy::Link {
  Link(int client_fd, int server_fd, Framing its_framing)
      : client(client_fd), server(server_fd), framing(std::move(its_framing)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    ::close(client);
    if (server >= 0) ::close(server);
  }

  struct Late {
    Clock::time_point due;
    std::string bytes;
  };

  /// A request without an answer.
  struct Asked {
    std::int64_t number;
    std::shared_ptr<Rule> rule;  // empty: an ordinary one
  };

  const int client;
  const int server;
  const Framing framing;
  std::string from_client = {}, to_server = {}, from_server = {}, to_client = {};
  std::deque<Asked> asked = {};
  std::deque<Late> late = {};
  bool silent = false;  // nothing more goes to the client
  bool doomed = false;  // its last request is lost: closed when the others are answered
  bool over = false;
};

Proxy::Proxy(std::uint16_t server, Framing framing)
    : Proxy(server, [framing = std::move(framing)] { return framing; }) {}

Proxy::Proxy(std::uint16_t server, std::function<Framing()> framing_of_one)
    : framing_(std::move(framing_of_one)),
      listener_(listen_at(port_.number())),
      server_(server),
      thread_([this] { run(); }) {}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  bell_.ring();
  thread_.join();
  ::close(listener_);
}

void Proxy::arrange(Fault fault, Match match, std::size_t nth) {
  const std::lock_guard lock(mutex_);
  rules_.push_back(std::make_shared<Rule>(Rule{fault, std::move(match), nth}));
}

void Proxy::arrange(Fault fault, const std::string& name, std::size_t nth) {
  arrange(
      fault, [name](const std::string& its, std::string_view) { return its == name; }, nth);
}

std::size_t Proxy::happened() const {
  const std::lock_guard lock(mutex_);
  return happened_;
}

void Proxy::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void Proxy::go_on() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  bell_.ring();
}

void Proxy::cut() {
  {
    const std::lock_guard lock(mutex_);
    links_.clear();
  }
  bell_.ring();
}

void Proxy::move_to(std::uint16_t server) {
  const std::lock_guard lock(mutex_);
  server_ = server;
}

void Proxy::delay_replies(Duration delay) {
  const std::lock_guard lock(mutex_);
  delay_ = delay;
}

void Proxy::hold_replies(bool hold) {
  {
    const std::lock_guard lock(mutex_);
    replies_held_ = hold;
  }
  bell_.ring();
}

void Proxy::hold_requests(bool hold) {
  {
    const std::lock_guard lock(mutex_);
    requests_held_ = hold;
  }
  bell_.ring();
}

void Proxy::babble(std::string bytes) {
  const std::lock_guard lock(mutex_);
  babble_ = std::move(bytes);
}

void Proxy::shut(bool shut) {
  const std::lock_guard lock(mutex_);
  shut_ = shut;
}

std::size_t Proxy::seen(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(name);
  return found == seen_.end() ? 0 : found->second;
}

std::map<std::string, std::size_t> Proxy::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::size_t Proxy::connections() const {
  const std::lock_guard lock(mutex_);
  return links_.size();
}

std::size_t Proxy::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void Proxy::run() {
  std::unique_lock lock(mutex_);
  std::vector<pollfd> polled;
  while (!over_) {
    const int wait = fill(polled);
    lock.unlock();
    ::poll(polled.data(), polled.size(), wait);
    lock.lock();
    bell_.hear();
    if (held_ || over_) continue;
    const auto events_of = [&](int fd) {
      const auto found = std::find_if(polled.begin(), polled.end(), [fd](const pollfd& one) { return one.fd == fd; });
      return found == polled.end() ? short{0} : found->revents;
    };
    // Sockets never block, so it does no harm that what was polled may have been cut in between.
    for (Link& link : links_) serve(link, events_of(link.client), events_of(link.server));
    links_.remove_if([](const Link& link) { return link.over; });
    if (events_of(listener_) != 0) accept_one();
  }
  links_.clear();
}

/// Whom to wait for; and how long, in milliseconds.
int Proxy::fill(std::vector<pollfd>& polled) {
  polled.assign({pollfd{bell_.fd(), POLLIN, 0}});
  if (held_) return -1;
  polled.push_back({listener_, POLLIN, 0});
  Clock::time_point due = Clock::time_point::max();
  for (const Link& link : links_) {
    const auto wants = [](const std::string& out) {
      return static_cast<short>(out.empty() ? POLLIN : POLLIN | POLLOUT);
    };
    polled.push_back({link.client, wants(link.to_client), 0});
    if (link.server >= 0) polled.push_back({link.server, wants(link.to_server), 0});
    if (!link.late.empty() && !replies_held_) due = std::min(due, link.late.front().due);
  }
  if (due == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Proxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted_;
  const int server = shut_ ? -1 : connect_to(server_);
  if (server < 0) {
    ::close(client);
    return;
  }
  make_quick(client);
  links_.emplace_back(client, server, framing_());
}

void Proxy::serve(Link& link, short client, short server) {
  const bool client_stays = client == 0 || read_all(link.client, link.from_client);
  if (!requests_held_ && !link.from_client.empty()) take_requests(link);
  const bool server_stays = server == 0 || read_all(link.server, link.from_server);
  if (server != 0) take_replies(link);
  send_due(link);
  if (!write_some(link.server, link.to_server) || !write_some(link.client, link.to_client)) link.over = true;
  const bool answered = link.doomed && link.asked.empty() && link.late.empty();
  // A silent connection stays until its client goes.
  if (!client_stays || answered || (!server_stays && !link.silent)) link.over = true;
}

void Proxy::take_requests(Link& link) {
  while (!link.doomed) {
    const std::size_t size = link.framing.request(link.from_client);
    if (size == 0) return;
    const std::string request = link.from_client.substr(0, size);
    link.from_client.erase(0, size);
    const std::string name = link.framing.name(request);
    if (name.empty()) {
      link.to_server += request;
      continue;
    }
    ++seen_[name];
    if (!babble_.empty()) {
      link.to_client += babble_;
      continue;
    }
    const std::shared_ptr<Rule> rule = rule_for(name, request);
    if (rule && rule->fault == Fault::lose_request) {
      link.doomed = true;
      ++happened_;
      return;
    }
    link.to_server += request;
    link.asked.push_back({link.framing.number(request), rule});
    write_some(link.server, link.to_server);  // at once: something may happen before the next one
  }
}

std::shared_ptr<Proxy::Rule> Proxy::rule_for(const std::string& name, std::string_view request) {
  for (auto rule = rules_.begin(); rule != rules_.end(); ++rule) {
    if (!(*rule)->match(name, request) || --(*rule)->left > 0) continue;
    const std::shared_ptr<Rule> found = *rule;
    rules_.erase(rule);
    return found;
  }
  return nullptr;
}

void Proxy::take_replies(Link& link) {
  while (!link.silent) {
    const std::size_t size = link.framing.reply(link.from_server);
    if (size == 0) return;
    std::string reply = link.from_server.substr(0, size);
    link.from_server.erase(0, size);
    if (link.framing.rewrite) link.framing.rewrite(reply);
    const bool pass = answer(link, reply);
    if (link.over) return;
    if (pass) link.late.push_back({Clock::now() + delay_, std::move(reply)});
  }
}

/// Does it reach the client?
bool Proxy::answer(Link& link, std::string_view reply) {
  if (link.framing.pushed(reply)) return true;
  const auto its =
      std::find_if(link.asked.begin(), link.asked.end(),
                   [number = link.framing.number(reply)](const auto& one) { return one.number == number; });
  if (its == link.asked.end()) return true;
  const std::shared_ptr<Rule> rule = std::move(its->rule);
  link.asked.erase(its);
  if (!rule) return true;
  ++happened_;
  switch (rule->fault) {
    case Fault::lose_request: break;
    case Fault::swallow_reply: return false;
    case Fault::lose_reply: link.over = true; break;
    case Fault::half_reply:
      link.late.push_back({Clock::now() + delay_, std::string(reply.substr(0, reply.size() / 2))});
      [[fallthrough]];
    case Fault::go_silent: link.silent = true; break;
  }
  return false;
}

void Proxy::send_due(Link& link) {
  if (replies_held_) return;
  const Clock::time_point now = Clock::now();
  while (!link.late.empty() && (link.over || link.late.front().due <= now)) {
    link.to_client += link.late.front().bytes;
    link.late.pop_front();
  }
}

}  // namespace pawl::test
