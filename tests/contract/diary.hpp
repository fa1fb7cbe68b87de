#pragma once

#include <pawl/observer.hpp>
#include <pawl/options.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace pawl::contract {

/// What an observer was told, in order. What it keeps outlives it: the last events come when the play is over.
class Diary {
 public:
  ClientOptions options(Duration lease) const {
    ClientOptions options;
    options.lease = lease;
    options.observer = [kept = kept_](const Event& event) {
      const std::lock_guard lock(kept->mutex);
      kept->events.push_back(event);
    };
    return options;
  }

  std::vector<Event> events() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->events;
  }
  std::vector<EventType> told() const {
    std::vector<EventType> types;
    for (const Event& event : events()) types.push_back(event.type);
    return types;
  }
  bool has(EventType type) const {
    const std::vector<EventType> types = told();
    return std::find(types.begin(), types.end(), type) != types.end();
  }

 private:
  struct Kept {
    std::mutex mutex = {};  // guards the events
    std::vector<Event> events = {};
  };
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

using Told = std::vector<EventType>;

}  // namespace pawl::contract
