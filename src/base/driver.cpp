#include "base/driver.hpp"

#include "base/escaped.hpp"
#include "base/registrations.hpp"
#include "base/threads.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace pawl::base {

namespace {

constexpr auto shortest_pause = std::chrono::milliseconds(1);
constexpr auto longest_pause = std::chrono::milliseconds(4);
thread_local bool this_thread_drives = false;

/// What escapes a handler is a bug. It is said, and the seat does not stay taken for ever because of it.
template <class Step>
bool guarded(Step step) noexcept {
  try {
    return static_cast<bool>(step());
  } catch (...) {
    report_escaped("a handler");
  }
  return true;
}

/// Errors: std::system_error when the kernel refuses a registration that the reactor needs. Asio passes over that.
void make_reactor(boost::asio::io_context& io) {
  take_refused_registration();
  const boost::asio::posix::stream_descriptor first(io);  // which makes the reactor
  const int refused = take_refused_registration();
  if (refused != 0) throw std::system_error(refused, std::generic_category(), "epoll_ctl");
}

}  // namespace

bool Driver::driving() { return this_thread_drives; }

bool Driver::run_one() noexcept {
  return guarded([this] { return io_.run_one(); });
}
bool Driver::poll_one() noexcept {
  return guarded([this] { return io_.poll_one(); });
}

Driver::Driver() : normal_nice_(this_thread_nice()) {  // the background thread inherits it
  make_reactor(io_);  // before there is a thread that waits in it: a reactor without its wake-up could not be stopped
  thread_ = start_thread("pawl-io", [this] { background(); });
}

Driver::~Driver() { stop(); }

void Driver::stop() {
  {
    Lock lock(mutex_);
    stop_ = true;
    background_wake_.notify_one();
  }
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

bool Driver::may_drive() const { return !this_thread_is_weak(normal_nice_); }

// What the caller waits for refers to its stack frame: running out of memory must not unwind that.
void Driver::wait(Caller& me) {
  or_out_of_memory([&] { wait_until_done(me); });
}

void Driver::wait_until_done(Caller& me) {
  Lock lock(mutex_);
  me.may_drive_ = may_drive();
  while (!me.done_) {
    if (!taken_ && me.may_drive_) return drive(lock, me.done_);
    if (background_drives_ && !background_must_leave_ && me.may_drive_) {
      ask_background_to_leave(lock);
      continue;
    }
    const auto place = followers_.insert(followers_.end(), &me);
    me.wake_.wait(lock, [&] { return me.done_ || me.promoted_; });
    if (!me.promoted_) {
      followers_.erase(place);
      return;
    }
    me.promoted_ = false;
    taken_ = false;  // it was kept for us
    if (me.done_) leave_seat();
  }
}

void Driver::finish(Caller& caller) {
  // Notified under the mutex: the caller's stack frame may be gone as soon as we let go of it.
  const Lock lock(mutex_);
  caller.done_ = true;
  caller.wake_.notify_one();
}

bool Driver::sit_down() {
  if (this_thread_drives || !may_drive()) return false;
  const Lock lock(mutex_);
  if (taken_) return false;
  taken_ = true;
  ++seatings_;
  this_thread_drives = true;
  return true;
}

void Driver::stand_up() {
  this_thread_drives = false;
  const Lock lock(mutex_);
  taken_ = false;
  leave_seat();
}

void Driver::poll() {
  must_poll_ = false;
  // Bounded: whoever only wanted to unlock must not end up serving everybody else.
  for (int ran = 0; ran < 256 && poll_one(); ++ran) {
  }
}

void Driver::post(std::function<void()> work) {
  ++posted_;
  boost::asio::post(io_, [this, work = std::move(work)] {
    ++ran_;
    work();
  });
}

// Whoever sat here when it was posted may have left without a look at it.
void Driver::run_posted() {
  for (const std::uint64_t posted = posted_; ran_ < posted && poll_one();) {
  }
}

void Driver::help() {
  if (!sit_down()) return;
  poll();
  stand_up();
}

bool Driver::run_here(const std::function<bool()>& work) {
  if (!sit_down()) return false;
  run_posted();
  bool must_poll = true;
  std::exception_ptr error;
  try {
    must_poll = work();
  } catch (...) {
    error = std::current_exception();
  }
  // Whoever only comes for a moment, again and again, keeps the background away: timers and news are theirs to see to.
  if (must_poll || must_poll_) poll();
  stand_up();
  if (error) rethrow_escaped(error);
  return true;
}

void Driver::drive(Lock& lock, const bool& until) {
  taken_ = true;
  ++seatings_;
  this_thread_drives = true;
  while (!until) {
    lock.unlock();
    run_one();
    lock.lock();
  }
  this_thread_drives = false;
  taken_ = false;
  leave_seat();
}

void Driver::leave_seat() {
  const auto found =
      std::find_if(followers_.begin(), followers_.end(), [](const Caller* one) { return one->may_drive_; });
  if (found != followers_.end()) {
    Caller* next = *found;
    followers_.erase(found);
    next->promoted_ = true;
    taken_ = true;
    next->wake_.notify_one();
    return;
  }
  if (background_sleeps_) background_wake_.notify_one();
}

void Driver::ask_background_to_leave(Lock& lock) {
  background_must_leave_ = true;
  lock.unlock();
  boost::asio::post(io_, [] {});  // it may be asleep in the kernel
  lock.lock();
}

// Looks every millisecond while callers come and go, which costs them nothing; less often while they sit for long; and
// sleeps while one and the same caller sits.
void Driver::background() {
  Lock lock(mutex_);
  for (auto pause = shortest_pause; !stop_;) {
    const std::uint64_t before = seatings_;
    background_wake_.wait_for(lock, pause);
    if (stop_) return;
    const bool same = seatings_ == before;
    pause = taken_ && !same ? std::min(2 * pause, longest_pause) : shortest_pause;
    if (!same) {
      must_poll_ = true;
    } else if (taken_) {
      sleep_in_background(lock);
    } else {
      drive_in_background(lock);
    }
  }
}

void Driver::drive_in_background(Lock& lock) {
  taken_ = background_drives_ = true;
  this_thread_drives = true;
  while (!stop_ && !background_must_leave_) {
    lock.unlock();
    run_one();
    lock.lock();
  }
  this_thread_drives = false;
  taken_ = background_drives_ = background_must_leave_ = false;
  leave_seat();
}

void Driver::sleep_in_background(Lock& lock) {
  background_sleeps_ = true;
  background_wake_.wait(lock, [&] { return stop_ || !taken_; });
  background_sleeps_ = false;
}

}  // namespace pawl::base
