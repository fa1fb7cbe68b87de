#include "base/offload_pool.hpp"

#include "base/threads.hpp"

namespace pawl::base {

namespace {
constexpr std::size_t most_threads = 4;
}

OffloadPool::~OffloadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void OffloadPool::submit(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < most_threads) {
    threads_.push_back(start_thread("pawl-offload", [this] { run(); }));
  }
  wake_.notify_one();
}

void OffloadPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace pawl::base
