#include "base/notifier.hpp"

#include "base/boot_clock.hpp"
#include "base/log.hpp"
#include "base/threads.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <future>
#include <system_error>

namespace pawl::base {

namespace {

int make_event() {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

void drain(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto size = ::read(descriptor, &count, sizeof count);
}

void call_user_code(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    log(Level::error, std::string("a callback threw: ") + error.what());
  } catch (...) {
    log(Level::error, "a callback threw");
  }
}

thread_local const Notifier* this_thread_notifies = nullptr;

}  // namespace

Notifier::Notifier(Clock& clock) : clock_(clock), timer_(make_boot_timer()), event_(make_event()) {
  thread_ = start_thread("pawl-notify", [this] { run(); });
}

Notifier::~Notifier() {
  stop();
  ::close(timer_);
  ::close(event_);
}

void Notifier::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

bool Notifier::here() const { return this_thread_notifies == this; }

void Notifier::call(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(function));
    if (calls_.size() > 1) return;  // it has been woken already
  }
  wake();
}

Runtime::AlarmId Notifier::set_alarm(Time at, std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  const Runtime::AlarmId id = ++last_id_;
  alarms_.emplace(std::pair{at, id}, std::move(function));
  alarm_times_.emplace(id, at);
  if (at < armed_) {
    armed_ = at;
    clock_.set_timer(timer_, at);
  }
  return id;
}

void Notifier::cancel_alarm(Runtime::AlarmId id) {
  Alarms::node_type last;  // what it captured is destroyed without the mutex
  const std::lock_guard lock(mutex_);
  const auto found = alarm_times_.find(id);
  if (found == alarm_times_.end()) return;
  last = alarms_.extract({found->second, id});
  alarm_times_.erase(found);
}

std::uint64_t Notifier::settle() {
  std::promise<std::uint64_t> reached;
  call([&] {
    const std::lock_guard lock(mutex_);
    reached.set_value(called_ - 1);  // but for this one
    --called_;
  });
  return reached.get_future().get();
}

void Notifier::run() {
  this_thread_notifies = this;
  for (;;) {
    std::function<void()> next;
    while (take_due(next)) {
      call_user_code(next);
      // Here, without the mutex, and before we sleep: what it captured may call us when it goes, and must not live on.
      next = nullptr;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    sleep_until_something_is_due();
  }
}

// Alarms go before calls: a loss must not wait behind a queue of events.
bool Notifier::take_due(std::function<void()>& out) {
  const std::lock_guard lock(mutex_);
  if (!alarms_.empty() && alarms_.begin()->first.first <= clock_.now()) {
    alarm_times_.erase(alarms_.begin()->first.second);
    out = std::move(alarms_.begin()->second);
    alarms_.erase(alarms_.begin());
    ++called_;
    return true;
  }
  armed_ = alarms_.empty() ? Time::max() : alarms_.begin()->first.first;
  clock_.set_timer(timer_, armed_);
  if (calls_.empty()) return false;
  out = std::move(calls_.front());
  calls_.pop_front();
  ++called_;
  return true;
}

void Notifier::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto size = ::write(event_, &one, sizeof one);
}

void Notifier::sleep_until_something_is_due() {
  std::array<pollfd, 2> interest{{{timer_, POLLIN, 0}, {event_, POLLIN, 0}}};
  ::poll(interest.data(), interest.size(), -1);
  if ((interest[0].revents & POLLIN) != 0) drain(timer_);
  if ((interest[1].revents & POLLIN) != 0) drain(event_);
}

}  // namespace pawl::base
