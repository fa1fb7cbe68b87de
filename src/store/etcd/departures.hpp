#pragma once

#include "base/runtime.hpp"
#include "base/wakeup.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl::store::etcd {

/// Requests of this client that give a lock back and are not answered yet. etcd may apply a request before one that was
/// sent earlier: so a claim to the same lock waits for them, or it would find the lock taken by its own client.
/// Threads: on the executor only.
class Departures : public std::enable_shared_from_this<Departures> {
 public:
  explicit Departures(base::Runtime& runtime) : runtime_(runtime) {}

  /// One that is under way.
  class Departure {
   public:
    Departure(std::shared_ptr<Departures> all, std::string lock);
    Departure(const Departure&) = delete;
    Departure& operator=(const Departure&) = delete;
    ~Departure();

   private:
    const std::shared_ptr<Departures> all_;
    const std::string lock_;
  };

  /// Until there are none of that lock.
  base::awaitable<void> all_answered(std::string lock, base::Deadline deadline);

 private:
  struct Lock {
    int under_way = 0;
    std::vector<std::shared_ptr<base::Wakeup>> waiting = {};
  };

  base::Runtime& runtime_;
  std::map<std::string, Lock> locks_;
};

}  // namespace pawl::store::etcd
