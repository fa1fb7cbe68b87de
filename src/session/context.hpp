#pragma once

#include "base/telemetry.hpp"
#include "base/wakeup.hpp"
#include "store/store.hpp"

#include <memory>
#include <utility>

namespace pawl::session {

/// What everything in one client shares, kept alive by whoever still has work to do.
struct Context {
  Context(base::Runtime& on, std::shared_ptr<store::Store> at, std::function<void(const Event&)> observer, Owner us,
          Duration patience)
      : runtime(on), store(std::move(at)), telemetry(on, std::move(observer)), owner(std::move(us)), timeout(patience) {}

  /// Counts a task that must end before the client can say goodbye to the store.
  class Task {
   public:
    explicit Task(Context& context) : context_(context) { ++context_.tasks; }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
      if (--context_.tasks == 0) context_.tasks_over.notify();
    }

   private:
    Context& context_;
  };

  base::Runtime& runtime;
  const std::shared_ptr<store::Store> store;
  base::Telemetry telemetry;
  const Owner owner;
  const Duration timeout;  ///< for one request to the store
  std::size_t tasks = 0;   ///< on the executor only, like the next
  base::Wakeup tasks_over{runtime};
};

}  // namespace pawl::session
