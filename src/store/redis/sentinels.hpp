#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "store/net/address.hpp"
#include "store/redis/connection.hpp"

#include <pawl/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

/// The sentinels that watch a server and name the current master. Their configuration has an epoch, which grows with every
/// failover: of two that name different masters, the one with the larger epoch is right, and the other one has not been
/// told yet, or is cut off.
/// Threads: on the executor only.
class Sentinels : public std::enable_shared_from_this<Sentinels> {
 public:
  using Moved = std::function<void(const net::Address& master)>;

  Sentinels(base::Runtime& runtime, std::vector<net::Address> addresses, std::string master);

  /// Asks one after the other, each with its share of the time, until one is not behind what is known already.
  base::awaitable<Result<net::Address>> find_master(base::Deadline deadline);

  /// Subscribes to the failovers that each sentinel announces, if it has not. An announcement is only a hint: the sentinel is
  /// then asked, and `moved` is called if its epoch is larger than all before. It is also asked whenever it can be heard
  /// again, because it may have announced something meanwhile.
  void watch(Duration timeout, Moved moved);
  /// Now and then: can each of them still be heard?
  void probe();
  /// Subscribes no more.
  void stop();

 private:
  struct Named {
    net::Address master = {};
    std::uint64_t epoch = 0;
  };
  struct Subscription {
    std::shared_ptr<Connection> connection = {};
    bool doubted = false;  // it may know another master by now
    bool asking = false;
  };

  base::awaitable<Result<Named>> ask(net::Address sentinel, base::Deadline deadline);
  void learn(const Named& named);
  std::shared_ptr<Connection> subscribe_to(std::size_t sentinel);
  base::awaitable<Result<void>> greet(std::size_t sentinel, base::Deadline deadline);
  void doubt(std::size_t sentinel);
  base::awaitable<void> settle_doubt(std::shared_ptr<Sentinels> self, std::size_t sentinel);

  base::Runtime& runtime_;
  const std::vector<net::Address> addresses_;
  const std::string master_;  // as the sentinels call it
  std::size_t next_ = 0;
  std::uint64_t epoch_ = 0;  // the largest that was seen
  Duration timeout_ = {};
  Moved moved_;
  std::vector<Subscription> subscriptions_;  // one for each address, or none
};

/// Whether the message of a sentinel says that another server is the master of that name, or has just been made so.
bool announces_failover(const Reply& message, std::string_view master);

}  // namespace pawl::store::redis
