#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// THE WRONG WAY, on purpose: locks on Redis as they are often written, a few lines each. The tests let them have their
/// accidents on a real server, and then let the same things happen to pawl. Nobody should use these for anything else.
namespace pawl::test::naive {

using Milliseconds = std::chrono::milliseconds;

/// A blocking connection to a server on the loopback address. Throws what the server calls an error.
class Redis {
 public:
  explicit Redis(std::uint16_t port);
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;
  ~Redis();

  /// A text or a number, as text; nothing for nil.
  std::optional<std::string> call(const std::vector<std::string>& words);
  std::int64_t number(const std::vector<std::string>& words);

 private:
  void receive();
  std::string line();
  std::string bytes(std::size_t size);

  const int fd_;
  std::string rest_;
};

/// SETNX, and EXPIRE as a second step. Wrong: whoever dies in between has shut the lock for ever.
class TwoStepLock {
 public:
  TwoStepLock(Redis& redis, std::string key) : redis_(redis), key_(std::move(key)) {}
  bool first_step(const std::string& owner) { return redis_.number({"SETNX", key_, owner}) == 1; }
  void second_step(std::chrono::seconds lease) { redis_.number({"EXPIRE", key_, std::to_string(lease.count())}); }

 private:
  Redis& redis_;
  const std::string key_;
};

/// SET NX PX, nobody renews it, and DEL by name. Wrong: the lease ends during the work, and the release that follows is
/// that of somebody else's lock.
class UnownedLock {
 public:
  UnownedLock(Redis& redis, std::string key) : redis_(redis), key_(std::move(key)) {}
  bool take(const std::string& owner, Milliseconds lease) {
    return redis_.call({"SET", key_, owner, "NX", "PX", std::to_string(lease.count())}) == "OK";
  }
  void release() { redis_.number({"DEL", key_}); }

 private:
  Redis& redis_;
  const std::string key_;
};

/// The value is the time when the lock ends, by the clock of whoever wrote it; whoever finds it in the past writes his own
/// with GETSET, and has won if he got back what he had read. Wrong: clocks differ, and the loser has written as well.
class StampLock {
 public:
  StampLock(Redis& redis, std::string key) : redis_(redis), key_(std::move(key)) {}
  /// `now` is the caller's clock.
  bool take(Milliseconds now, Milliseconds lease) {
    if (first_step(now, lease)) return true;
    const std::optional<std::string> found = read();
    return found && over(*found, now) && swap(*found, now, lease);
  }

  bool first_step(Milliseconds now, Milliseconds lease) {
    return redis_.number({"SETNX", key_, stamp(now, lease)}) == 1;
  }
  std::optional<std::string> read() { return redis_.call({"GET", key_}); }
  static bool over(const std::string& found, Milliseconds now) { return std::stoll(found) < now.count(); }
  bool swap(const std::string& found, Milliseconds now, Milliseconds lease) {
    return redis_.call({"GETSET", key_, stamp(now, lease)}) == found;
  }
  static std::string stamp(Milliseconds now, Milliseconds lease) { return std::to_string((now + lease).count()); }

 private:
  Redis& redis_;
  const std::string key_;
};

}  // namespace pawl::test::naive
