#include "base/offload_pool.hpp"

#include "base/threads.hpp"

#include <iterator>
#include <system_error>
#include <utility>

namespace pawl::base {

namespace {

void join_all(std::list<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

OffloadPool::~OffloadPool() {
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    for (auto& [name, lane] : lanes_) lane.wake.notify_all();
    all_ended_.wait(lock, [&] { return threads_.empty(); });
  }
  join_all(ended_);
}

void OffloadPool::submit(const std::string& lane, std::function<void()> job) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    const auto place = lanes_.try_emplace(lane).first;
    Lane& found = place->second;
    found.jobs.push_back(std::move(job));
    if (found.idle < found.jobs.size() && found.threads < most_threads_in_a_lane) start(place);
    found.wake.notify_one();
    ended.swap(ended_);  // behind what may throw: a thread must be joined before its object goes
  }
  join_all(ended);
}

// A lane that has a thread can do without another.
void OffloadPool::start(Lanes::iterator lane) {
  const auto thread = threads_.emplace(threads_.end());
  try {
    *thread = start_thread("pawl-offload", [this, lane, thread] { run(lane, thread); });
    ++lane->second.threads;
  } catch (const std::system_error&) {
    threads_.erase(thread);
    if (lane->second.threads > 0) return;
    lanes_.erase(lane);
    throw;
  }
}

void OffloadPool::run(Lanes::iterator lane, Threads::iterator self) {
  std::unique_lock lock(mutex_);
  Lane& mine = lane->second;
  for (;;) {
    ++mine.idle;
    mine.wake.wait_for(lock, patience_, [&] { return stop_ || !mine.jobs.empty(); });
    --mine.idle;
    if (mine.jobs.empty()) break;
    std::function<void()> job = std::move(mine.jobs.front());
    mine.jobs.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // without the mutex
    lock.lock();
  }
  if (--mine.threads == 0) lanes_.erase(lane);
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) all_ended_.notify_all();
}

}  // namespace pawl::base
