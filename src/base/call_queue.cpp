#include "base/call_queue.hpp"

#include "base/log.hpp"
#include "base/threads.hpp"

#include <exception>
#include <future>
#include <string>
#include <utility>

namespace pawl::base {

namespace {

thread_local const CallQueue* this_thread_calls = nullptr;

void call_user_code(const std::function<void()>& function) noexcept {
  try {
    function();
  } catch (const std::exception& error) {
    log(Level::error, std::string("a callback threw: ") + error.what());
  } catch (...) {
    log(Level::error, "a callback threw");
  }
}

}  // namespace

void CallQueue::start() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable() && !stop_) thread_ = start_thread(name_, [this] { run(); });
}

void CallQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool CallQueue::here() const { return this_thread_calls == this; }

void CallQueue::call(std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(function));
  if (calls_.size() == 1) wake_.notify_one();  // else it has been woken already
}

std::uint64_t CallQueue::settle() {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) return 0;
  }
  std::promise<std::uint64_t> reached;
  call([&] {
    const std::lock_guard lock(mutex_);
    reached.set_value(--called_);  // but for this one
  });
  return reached.get_future().get();
}

void CallQueue::run() {
  this_thread_calls = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !calls_.empty(); });
    if (calls_.empty()) return;
    std::function<void()> next = std::move(calls_.front());
    calls_.pop_front();
    ++called_;
    lock.unlock();
    call_user_code(next);
    // Here, without the mutex, and before we sleep: what it captured may call us when it goes, and must not live on.
    next = nullptr;
    lock.lock();
  }
}

}  // namespace pawl::base
