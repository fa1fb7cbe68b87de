#pragma once

#include "base/real_runtime.hpp"
#include "store/zookeeper/connection.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_frames.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }
inline void PrintTo(HoldState state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(const Token& token, std::ostream* out) { *out << token.to_string(); }

/// Where the races of ZooKeeper's tests happen.
namespace stage {

using namespace std::chrono_literals;
using store::zookeeper::Answer;
using store::zookeeper::Connection;
using store::zookeeper::Part;
using store::zookeeper::SharedRequest;
using test::eventually;
using test::Fault;
using test::Proxy;
using test::ZooKeeperOptions;
using test::ZooKeeperServer;
using test::ZooKeeperTicket;

constexpr auto hang = 60s;
/// Long enough to be granted a lock that is free.
constexpr auto a_moment = 300ms;

using Start = std::function<SharedRequest(Connection&)>;

inline base::awaitable<Result<Answer>> ask(std::shared_ptr<Connection> connection, Start start,
                                           base::Deadline deadline) {
  Result<void> ready = co_await connection->ready(deadline);
  if (!ready) co_return ready.error();
  const SharedRequest asked = start(*connection);
  Answer answer = co_await asked->wait(deadline);
  co_return answer;
}

/// Sees and changes the nodes themselves, on a connection of its own.
/// Threads: safe to share.
class Eye {
 public:
  explicit Eye(const ZooKeeperServer& server) {
    Connection::Plan plan;
    plan.servers.push_back({.host = "127.0.0.1", .port = server.port()});
    plan.session = 60s;
    connection_ = std::make_shared<Connection>(runtime_, std::move(plan));
    const Result<void> opened = runtime_.block_on(connection_->open(std::nullopt, deadline()));
    if (!opened) throw std::runtime_error(opened.error().to_string());
  }
  Eye(const Eye&) = delete;
  Eye& operator=(const Eye&) = delete;
  ~Eye() {
    const Start close = [](Connection& connection) {
      connection.close();
      return connection.exists("/");
    };
    (void)runtime_.block_on(ask(std::move(connection_), close, deadline()));
  }

  /// The name that it got.
  std::string create(const std::string& path, int mode = ZOO_PERSISTENT, const std::string& data = {}) {
    const Answer made = must([&](Connection& connection) { return connection.create(path, data, mode); });
    EXPECT_EQ(made.code, ZOK) << path;
    return made.path;
  }
  /// With all above it that is missing.
  void make_folder(const std::string& path, int mode = ZOO_CONTAINER) {
    for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
      must([&](Connection& connection) { return connection.create(path.substr(0, end), "", ZOO_PERSISTENT); });
    }
    create(path, mode);
  }
  /// All of it in one transaction.
  int change(const std::vector<Part>& parts) {
    return must([&](Connection& connection) { return connection.multi(parts); }).code;
  }
  int remove(const std::string& path) {
    return must([&](Connection& connection) { return connection.remove(path); }).code;
  }
  /// Written anew, with what it says already.
  int touch(const std::string& path) {
    const std::string data = get(path).data;
    return must([&](Connection& connection) { return connection.set(path, data, -1); }).code;
  }
  Answer get(const std::string& path) {
    return must([&](Connection& connection) { return connection.get(path); });
  }
  bool there(const std::string& path) { return get(path).ok(); }
  std::int64_t owner(const std::string& path) { return get(path).stat.ephemeralOwner; }
  /// Sorted.
  std::vector<std::string> children(const std::string& path) {
    Answer names = must([&](Connection& connection) { return connection.children(path); });
    std::sort(names.children.begin(), names.children.end());
    return names.children;
  }
  /// With all in it, children first.
  void remove_all(const std::string& path) {
    for (const std::string& name : children(path)) remove_all(path + "/" + name);
    remove(path);
  }
  /// All nodes that somebody's claim has made, below this path.
  std::vector<std::string> claims(const std::string& path) {
    std::vector<std::string> found;
    for (const std::string& name : children(path)) {
      const std::string child = path + "/" + name;
      const bool guard = path.find("/delays/") != std::string::npos;
      if (guard || owner(child) != 0) found.push_back(child);
      for (std::string& deeper : claims(child)) found.push_back(std::move(deeper));
    }
    return found;
  }

 private:
  base::Deadline deadline() const { return base::Deadline::in(runtime_.now(), hang); }
  Answer must(Start start) {
    Result<Answer> answer = runtime_.block_on(ask(connection_, std::move(start), deadline()));
    if (!answer) throw std::runtime_error(answer.error().to_string());
    return *answer;
  }

  base::RealRuntime& runtime_ = base::RealRuntime::process_wide();
  std::shared_ptr<Connection> connection_;
};

/// Which sessions there have been, as a proxy has heard.
class Tickets {
 public:
  std::function<void(const ZooKeeperTicket&)> listener() {
    return [this](const ZooKeeperTicket& ticket) {
      const std::lock_guard lock(mutex_);
      tickets_[ticket.session] = ticket;
    };
  }
  ZooKeeperTicket of(std::int64_t session) const {
    const std::lock_guard lock(mutex_);
    return tickets_.at(session);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, ZooKeeperTicket> tickets_;
};

/// Alice comes through a proxy, bob does not. All is below a path that no other test has.
class Stage {
 public:
  explicit Stage(std::string scheme = "sequential", ZooKeeperServer& on = ZooKeeperServer::shared())
      : server(on), scheme_(std::move(scheme)) {}

  ZooKeeperServer& server;
  const std::string top = next_top();
  Tickets tickets;  // outlives the proxy
  Proxy proxy{server.port(), test::zookeeper_framing(tickets.listener())};
  Eye eye{server};

  Client alice(const std::string& more = "&lease=6s") const { return Client(url(address(proxy.port()), more)); }
  Client bob(const std::string& more = "&lease=6s") const { return Client(url(address(server.port()), more)); }
  static std::string address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
  std::string url(const std::string& addresses, const std::string& more) const {
    const std::string timeout = more.find("&timeout=") == std::string::npos ? "&timeout=5s" : "";
    return "zookeeper://" + addresses + "?prefix=" + top + "&scheme=" + scheme_ + timeout + more;
  }

  /// Where the nodes of a lock are.
  std::string folder(const std::string& name = "job", const std::string& kind = "mutex") const {
    return top + "/" + scheme_ + "/" + kind + "/" + name;
  }
  std::vector<std::string> line(const std::string& name = "job", const std::string& kind = "mutex") {
    return eye.children(folder(name, kind));
  }
  bool line_is(std::size_t length, const std::string& name = "job", const std::string& kind = "mutex") {
    return eventually([&] { return line(name, kind).size() == length; });
  }
  /// Those of a lock only.
  std::vector<std::string> claims(const std::string& name) {
    std::vector<std::string> all = eye.claims(top);
    std::erase_if(all, [&](const std::string& path) { return path.find(name) == std::string::npos; });
    return all;
  }

  /// Does anybody watch that node, or one below it?
  bool watched(const std::string& path) const { return server.four_letter("wchp").find(path) != std::string::npos; }

  /// As if the servers had heard nothing from it for too long.
  void end_session(std::int64_t session) const { test::end_zookeeper_session(server.port(), tickets.of(session)); }
  void end_session_of(const std::string& node) { end_session(eye.owner(node)); }

  /// Meets the next such request of alice. Once. Any request that writes is called "change" as well.
  void arrange(Fault fault, const std::string& request, const std::string& about) {
    proxy.arrange(fault, [=](const std::string& name, std::string_view bytes) {
      return is_called(name, request) && bytes.find(about) != std::string_view::npos;
    });
  }
  /// Before the next such requests of alice reach the server, this happens. Those of any name, where none is given.
  void before(const std::string& request, const std::string& about, std::function<void(std::string_view)> happens,
              int times = 1) {
    const auto left = std::make_shared<std::atomic<int>>(times);
    proxy.arrange(Fault::swallow_reply, [=](const std::string& name, std::string_view bytes) {
      const bool meant = is_called(name, request) && bytes.find(about) != std::string_view::npos;
      if (meant && (*left)-- > 0) happens(bytes);
      return false;
    });
  }

 private:
  static bool is_called(const std::string& name, const std::string& request) {
    const bool writes = name == "create2" || name == "multi" || name == "delete" || name == "setData";
    return request.empty() || name == request || (request == "change" && writes);
  }
  static std::string next_top() {
    static std::atomic<int> stages = 0;
    return "/stage-" + std::to_string(++stages);
  }

  const std::string scheme_;
};

inline std::future<Result<Hold>> wait_for(Mutex lock, std::stop_token stop = {}, Duration wait = hang) {
  return std::async(std::launch::async, [=]() mutable { return lock.acquire({.wait = wait}, stop); });
}

/// Not what it says, but that it is not granted.
inline bool refused(const Result<Hold>& hold) { return hold.code() == Errc::timed_out; }

}  // namespace stage
}  // namespace pawl
