#include "base/alarms.hpp"

#include "base/boot_clock.hpp"
#include "base/escaped.hpp"
#include "base/threads.hpp"

#include <poll.h>
#include <unistd.h>

#include <future>
#include <utility>

namespace pawl::base {

namespace {

thread_local const Alarms* this_thread_watches = nullptr;

void call(const std::function<void()>& function) noexcept {
  try {
    function();
  } catch (...) {
    report_escaped("an alarm");
  }
}

void sleep_until_it_can_be_read(int timer) {
  pollfd interest{timer, POLLIN, 0};
  ::poll(&interest, 1, -1);
  std::uint64_t expirations = 0;
  [[maybe_unused]] const auto size = ::read(timer, &expirations, sizeof expirations);
}

}  // namespace

Alarms::Alarms(Clock& clock) : clock_(clock), timer_(make_boot_timer()) {
  try {
    thread_ = start_thread("pawl-alarms", [this] { run(); });
  } catch (...) {
    ::close(timer_);
    throw;
  }
}

Alarms::~Alarms() {
  stop();
  clock_.set_timer(timer_, Time::max());  // the clock must not know a descriptor that is closed
  ::close(timer_);
}

void Alarms::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    arm(Time::min());
  }
  if (thread_.joinable()) thread_.join();
}

bool Alarms::here() const { return this_thread_watches == this; }

Runtime::AlarmId Alarms::set(Time at, std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  const Runtime::AlarmId id = ++last_id_;
  due_.emplace(std::pair{at, id}, std::move(function));
  times_.emplace(id, at);
  if (at < armed_) arm(at);
  return id;
}

void Alarms::arm(Time at) {
  armed_ = at;
  clock_.set_timer(timer_, at);
}

void Alarms::cancel(Runtime::AlarmId id) {
  Due::node_type last;  // what it captured is destroyed without the mutex
  const std::lock_guard lock(mutex_);
  const auto found = times_.find(id);
  if (found == times_.end()) return;
  last = due_.extract({found->second, id});
  times_.erase(found);
}

std::uint64_t Alarms::settle() {
  std::promise<std::uint64_t> reached;
  set(clock_.now(), [&] {
    const std::lock_guard lock(mutex_);
    reached.set_value(--called_);  // but for this one
  });
  return reached.get_future().get();
}

void Alarms::run() {
  this_thread_watches = this;
  for (;;) {
    std::function<void()> next;
    while (take_due(next)) {
      call(next);
      // Here, without the mutex, and before we sleep: what it captured may call us when it goes, and must not live on.
      next = nullptr;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    sleep_until_it_can_be_read(timer_);
  }
}

bool Alarms::take_due(std::function<void()>& out) {
  const std::lock_guard lock(mutex_);
  const auto first = due_.begin();
  if (first != due_.end() && first->first.first <= clock_.now()) {
    times_.erase(first->first.second);
    out = std::move(first->second);
    due_.erase(first);
    ++called_;
    return true;
  }
  if (!stop_) arm(first == due_.end() ? Time::max() : first->first.first);
  return false;
}

}  // namespace pawl::base
