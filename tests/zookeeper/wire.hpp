#pragma once

#include "tests/support/proxy.hpp"
#include "tests/support/zookeeper_frames.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// What goes over the wire between clients and a ZooKeeper server, counted.
namespace pawl::wire {

/// Requests by what they are called: "create2", "getData", "getData and watch".
using Counts = std::map<std::string, std::size_t>;

inline std::size_t count(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

inline std::size_t sum(const Counts& counts) {
  std::size_t all = 0;
  for (const auto& [name, number] : counts) all += number;
  return all;
}

/// Of the queue, or of anything else.
inline std::size_t lists(const Counts& counts) { return count(counts, "getChildren2") + count(counts, "getChildren"); }

/// Requests that leave a watch.
inline bool watches(std::string_view name) { return name.ends_with(" and watch"); }
inline std::size_t watches(const Counts& counts) {
  std::size_t all = 0;
  for (const auto& [name, number] : counts) all += watches(name) ? number : 0;
  return all;
}

/// Stands between clients and a server.
/// Threads: safe to share.
class Wire {
 public:
  explicit Wire(std::uint16_t server) : proxy_(server, framing(events_)) {}

  std::string url(const std::string& rest) const {
    return "zookeeper://127.0.0.1:" + std::to_string(proxy_.port()) + rest;
  }
  /// How often the server has told a client that something which it watches has changed, so far.
  std::size_t events() const { return *events_; }
  /// Transactions that only say that somebody lives, so far; also those of clients without a lock.
  std::size_t heartbeats() const { return proxy_.seen("heartbeat"); }
  /// So far, without those that only say that somebody lives, or does not any more.
  Counts requests() const {
    Counts counts = proxy_.seen();
    counts.erase("ping");
    counts.erase("heartbeat");
    counts.erase("closeSession");
    return counts;
  }
  Counts requests_since(const Counts& then) const {
    Counts since;
    for (const auto& [name, number] : requests()) {
      if (number > count(then, name)) since[name] = number - count(then, name);
    }
    return since;
  }
  /// Once, just before the next request to watch something goes to the server; on the proxy's thread.
  template <class Action>
  void before_next_watch(Action action) {
    before_next([](const std::string& name) { return watches(name); }, action);
  }
  /// The same, before the next one that may delete something.
  template <class Action>
  void before_next_removal(Action action) {
    before_next([](const std::string& name) { return name == "delete" || name == "multi"; }, action);
  }

 private:
  template <class Match, class Action>
  void before_next(Match matches, Action action) {
    const auto done = std::make_shared<bool>(false);
    const auto act = [matches, action, done](const std::string& name, std::string_view) {
      if (matches(name) && !std::exchange(*done, true)) action();
      return false;
    };
    proxy_.arrange(test::Fault::lose_request, act);
  }

  using Events = std::shared_ptr<std::atomic<std::size_t>>;

  static test::Framing framing(const Events& events) {
    test::Framing framing = test::zookeeper_framing();
    framing.name = [plain = framing.name](std::string_view request) {
      const std::string name = plain(request);
      const bool reads = name == "exists" || name == "getData" || name == "getChildren" || name == "getChildren2";
      return reads && request.back() != 0 ? name + " and watch" : name;
    };
    framing.pushed = [events, plain = framing.pushed](std::string_view reply) {
      const bool told = plain(reply);
      if (told) ++*events;
      return told;
    };
    return framing;
  }

  const Events events_ = std::make_shared<std::atomic<std::size_t>>(0);
  test::Proxy proxy_;
};

}  // namespace pawl::wire
