#pragma once

#include "base/gathering.hpp"
#include "base/telemetry.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pawl::session {

/// What the observer is told beside the lock's name.
struct News {
  Token token = {};
  Duration elapsed = {};
  std::string message = {};
};

/// What everything in one client shares, kept alive by whoever still has work to do.
struct Context {
  Context(base::Runtime& on, std::shared_ptr<store::Store> at, std::function<void(const Event&)> observer, Owner us,
          Duration patience)
      : runtime(on),
        store(std::move(at)),
        telemetry(on, std::move(observer)),
        owner(std::move(us)),
        timeout(patience) {}

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

  /// Counts a claim that was let go and is still known to the store.
  class Leaving {
   public:
    explicit Leaving(Context& context) : context_(context) { ++context_.leaving; }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() { --context_.leaving; }

   private:
    Context& context_;
  };

  void report(EventType type, const store::LockKey& key, News news = {}) {
    if (!telemetry.observed()) return;
    telemetry.report({type, key.kind, key.name.bytes(), news.token, news.elapsed, std::move(news.message)});
  }

  base::Runtime& runtime;
  const std::shared_ptr<store::Store> store;
  base::Telemetry telemetry;
  const Owner owner;
  const Duration timeout;  ///< for one request to the store
  /// For what must not fail because one answer was lost: a second request fits in.
  Duration patience() const { return 2 * timeout; }
  std::size_t tasks = 0;  ///< on the executor only, like the next two
  std::size_t leaving = 0;
  base::Gathering tasks_over{runtime};
};

}  // namespace pawl::session
