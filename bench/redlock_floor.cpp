// What a lock on a majority of five Redis servers cannot do without: each request goes to all of them at once, and counts when
// the third has answered it, by poll. No token, no membership, no undo. A participant of bench/redlock_bench.py, with one scheme:
//
// set          SET NX PX, and compare-and-delete in a script of two commands

#include "bench/participant.hpp"
#include "bench/redis_wire.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::bench {

namespace {

/// "127.0.0.1:1", "127.0.0.1:2" of "redlock://127.0.0.1:1,127.0.0.1:2".
std::vector<std::string> hosts_of(const std::string& url) {
  std::vector<std::string> hosts;
  for (std::size_t begin = url.find("://") + 3; begin < url.size();) {
    const std::size_t end = std::min(url.find(',', begin), url.size());
    hosts.push_back(url.substr(begin, end - begin));
    begin = end + 1;
  }
  return hosts;
}

/// A connection on which replies may be left that nobody waited for.
class Node {
 public:
  explicit Node(const std::string& host) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = address_of(host);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::system_error(errno, std::generic_category(), "connect");
    }
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { ::close(socket_); }

  int socket() const { return socket_; }
  bool dead() const { return dead_; }
  bool answered() const { return dead_ || outstanding_ == 0; }
  /// To the last request, and as hoped.
  bool agrees() const { return !dead_ && outstanding_ == 0 && agrees_; }

  void ask(const std::string& bytes) {
    ++outstanding_;
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(bytes.size())) dead_ = true;
  }
  /// Every answer here is one line, or a hash that is a line behind its length.
  void hear(std::string_view begins) {
    std::array<char, 4096> buffer{};
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) dead_ = true;
    if (size > 0) heard_.append(buffer.data(), static_cast<std::size_t>(size));
    for (std::size_t end = heard_.find("\r\n"); end != std::string::npos; end = heard_.find("\r\n")) {
      const bool length_only = heard_.starts_with("$40");
      agrees_ = heard_.starts_with(begins);
      heard_.erase(0, end + 2);
      if (!length_only) --outstanding_;
    }
  }

 private:
  const int socket_;
  bool dead_ = false;
  bool agrees_ = false;
  std::size_t outstanding_ = 0;
  std::string heard_;
};

class Nodes {
 public:
  explicit Nodes(const std::string& url) {
    for (const std::string& host : hosts_of(url)) nodes_.push_back(std::make_unique<Node>(host));
  }

  /// Whether so many agree.
  bool ask(const std::string& bytes, std::string_view begins, std::size_t wanted) {
    for (const auto& node : nodes_) {
      if (!node->dead()) node->ask(bytes);
    }
    for (;;) {
      const auto agreed = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& one) { return one->agrees(); });
      if (static_cast<std::size_t>(agreed) >= wanted) return true;
      if (std::all_of(nodes_.begin(), nodes_.end(), [](const auto& one) { return one->answered(); })) return false;
      wait(begins);
    }
  }
  std::size_t size() const { return nodes_.size(); }
  std::size_t majority() const { return nodes_.size() / 2 + 1; }

 private:
  void wait(std::string_view begins) {
    std::vector<pollfd> ready;
    for (const auto& node : nodes_) {
      ready.push_back({.fd = node->answered() ? -1 : node->socket(), .events = POLLIN, .revents = 0});
    }
    ::poll(ready.data(), ready.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (ready[i].revents != 0) nodes_[i]->hear(begins);
    }
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

constexpr std::string_view script =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
constexpr std::string_view script_hash = "6fbe84d1140fd2047394924af9d845b83c070bec";

class SetLock final : public Lock {
 public:
  SetLock(std::shared_ptr<Nodes> nodes, const std::string& name)
      : nodes_(std::move(nodes)), key_("floor:set:" + name) {}

  bool acquire(std::int64_t) override {
    id_ = make_id();
    return nodes_->ask(encode({"SET", key_, id_, "NX", "PX", "30000"}), "+OK", nodes_->majority());
  }
  void release() override {
    const std::string request = encode({"EVALSHA", script_hash, "1", key_, id_});
    if (!nodes_->ask(request, ":1", nodes_->majority())) throw std::runtime_error("the lock was not ours");
  }

 private:
  const std::shared_ptr<Nodes> nodes_;
  const std::string key_;
  std::string id_;
};

/// One client.
class Floor final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int) override {
    if (scheme != "set") throw std::runtime_error("no such scheme: " + scheme);
    nodes_ = std::make_shared<Nodes>(url);
    const bool loaded = nodes_->ask(encode({"SCRIPT", "LOAD", script}), script_hash, nodes_->size());
    if (!loaded) throw std::runtime_error("the script cannot be loaded");
  }
  std::unique_ptr<Lock> lock(const std::string& name, int) override { return std::make_unique<SetLock>(nodes_, name); }
  std::unique_ptr<Lock> lock_of_thread(const std::string&, int) override {
    throw std::runtime_error("this floor has no threads");
  }

 private:
  std::shared_ptr<Nodes> nodes_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  pawl::bench::Floor floor;
  return pawl::bench::serve(floor);
}
