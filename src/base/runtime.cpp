#include "base/runtime.hpp"

#include "base/escaped.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <utility>

namespace pawl::base {

Timers::Key Timers::add(Time at, Node& node) {
  const Key key{at, sequence_++};
  due_.emplace(key, &node);
  return key;
}

std::optional<Time> Timers::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

bool Timers::fire_one(Time now) {
  if (due_.empty() || due_.begin()->first.first > now) return false;
  Node* node = due_.begin()->second;
  due_.erase(due_.begin());
  node->fire();
  return true;
}

void Pending::add(Entry& entry) {
  entry.before_ = nullptr;
  entry.behind_ = first_;
  if (first_ != nullptr) first_->before_ = &entry;
  first_ = &entry;
}

void Pending::remove(Entry& entry) {
  if (entry.before_ != nullptr) entry.before_->behind_ = entry.behind_;
  if (entry.behind_ != nullptr) entry.behind_->before_ = entry.before_;
  if (first_ == &entry) first_ = entry.behind_;
}

void Pending::drop_all() {
  while (first_ != nullptr) first_->drop();
}

Timers::Key Runtime::arm(Time at, Timers::Node& node) {
  const Timers::Key key = timers_.add(at, node);
  timers_changed();
  return key;
}

void spawn(Runtime& runtime, awaitable<void> task) {
  runtime.spawned_.fetch_add(1, std::memory_order_relaxed);
  asio::co_spawn(runtime.executor(), std::move(task), [](std::exception_ptr error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (...) {
      report_escaped("a background task");
    }
  });
}

void spawn_in_turn(Runtime& runtime, awaitable<void> task) {
  asio::post(runtime.executor(), [&runtime, task = std::move(task)]() mutable { spawn(runtime, std::move(task)); });
}

}  // namespace pawl::base
