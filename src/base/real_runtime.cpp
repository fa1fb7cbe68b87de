#include "base/real_runtime.hpp"

#include "base/boot_clock.hpp"
#include "base/escaped.hpp"
#include "base/threads.hpp"
#include "base/wakeup.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>

namespace pawl::base {

namespace {

std::mutex process_wide_mutex;

}  // namespace

RealRuntime::RealRuntime(Clock& clock)
    : clock_(clock), generation_(fork_generation()), notifier_(clock), timer_(driver_.io()) {
  const int timer = make_boot_timer();
  boost::system::error_code refused;
  timer_.assign(timer, refused);
  if (refused) {
    ::close(timer);
    throw std::system_error(refused, "a timer");
  }
  asio::post(driver_.io(), [this] { wait_for_timer(); });
}

RealRuntime::~RealRuntime() {
  ending_ = true;
  driver_.stop();
  notifier_.stop();
  pending_.drop_all();
  while (!ready_.empty()) ready_.pop_front();  // what one held may make another ready
}

RealRuntime& RealRuntime::process_wide() {
  // A child must not find the mutex locked by a thread that it does not have.
  static const int watching = pthread_atfork([] { process_wide_mutex.lock(); }, [] { process_wide_mutex.unlock(); },
                                             [] { process_wide_mutex.unlock(); });
  static RealRuntime* runtime = nullptr;
  (void)watching;
  const std::lock_guard lock(process_wide_mutex);
  // Never destroyed: locks may live in static objects, and the parent's threads do not exist in a child.
  if (runtime == nullptr || runtime->inert()) runtime = new RealRuntime;
  return *runtime;
}

Time RealRuntime::now() const { return clock_.now(); }

std::uint64_t RealRuntime::unix_milliseconds() const {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
}

std::uint64_t RealRuntime::random() {
  const std::lock_guard lock(random_mutex_);
  if (entropy_used_ == entropy_.size()) {
    const auto size = ::getrandom(entropy_.data(), sizeof entropy_, 0);
    if (size != static_cast<ssize_t>(sizeof entropy_))
      throw std::system_error(errno, std::generic_category(), "getrandom");
    entropy_used_ = 0;
  }
  return entropy_[entropy_used_++];
}

void RealRuntime::send(std::function<void()> work) {
  driver_.post(std::move(work));
  // What is ready there may block on a disk, and the next loss would wait for it: leave it to the driver.
  if (!notifier_.here()) driver_.help();
}

bool RealRuntime::may_block() const { return !Driver::driving() && !notifier_.here(); }

bool RealRuntime::run_here(const std::function<void()>& work, Afterwards afterwards) {
  if (!may_block()) return false;
  return driver_.run_here([&] {
    const std::uint64_t before = spawned_;
    will_run_ready_ = false;  // one that is on its way finds nothing to do
    wake_together(work);
    return spawned_ != before && afterwards == Afterwards::leaves;
  });
}

bool RealRuntime::wait_here(const std::function<bool(const Done&)>& work) {
  Driver::Caller me;
  const Done done = [&] { driver_.finish(me); };
  bool begun = false;
  const bool ran = run_here([&] { begun = work(done); }, Afterwards::may_wait);
  if (begun) driver_.wait(me);
  return ran;
}

bool RealRuntime::inert() const { return ending_ || fork_generation() != generation_; }

awaitable<void> RealRuntime::offload(std::string lane, std::function<void()> work) {
  // Shared with the thread: the coroutine may be dropped while the work goes on.
  struct Job {
    explicit Job(Runtime& runtime) : done(runtime) {}
    std::function<void()> work;
    std::exception_ptr error;
    Wakeup done;
  };
  auto job = std::make_shared<Job>(*this);
  job->work = std::move(work);
  pool_.submit(lane, [this, job] {
    try {
      job->work();
    } catch (...) {
      job->error = std::current_exception();
    }
    or_out_of_memory([&] { asio::post(driver_.io(), [job] { job->done.notify(); }); });
  });
  co_await job->done.wait(Time::max());
  if (job->error) std::rethrow_exception(job->error);
}

// Not posted one by one: Asio asks the kernel for news between any two handlers.
void RealRuntime::resume_soon(Resumption waiter, Woke why) {
  ++resumed_;
  ready_.emplace_back(std::move(waiter), why);
  if (!std::exchange(will_run_ready_, true)) asio::post(driver_.io(), [this] { run_ready(); });
}

void RealRuntime::wake_together(const std::function<void()>& work) {
  if (will_run_ready_) return work();
  will_run_ready_ = true;
  try {
    work();
  } catch (...) {
    run_ready();
    throw;
  }
  run_ready();
}

void RealRuntime::run_ready() {
  struct Rest {
    RealRuntime& runtime;
    ~Rest() {  // also when one of them throws
      runtime.will_run_ready_ = !runtime.ready_.empty();
      if (runtime.will_run_ready_) asio::post(runtime.driver_.io(), [&runtime = runtime] { runtime.run_ready(); });
    }
  };
  const Rest rest{*this};
  // Bounded: the kernel's news must come in some time.
  for (int ran = 0; ran < 100 && !ready_.empty(); ++ran) {
    Resumption waiter = std::move(ready_.front().first);
    const Woke why = ready_.front().second;
    ready_.pop_front();
    std::move(waiter)(why);
  }
}

void RealRuntime::timers_changed() {
  const std::optional<Time> next = timers_.next();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  clock_.set_timer(timer_.native_handle(), *next);
}

void RealRuntime::wait_for_timer() {
  timer_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    fire_due_timers();
    wait_for_timer();
  });
}

void RealRuntime::fire_due_timers() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] const auto size = ::read(timer_.native_handle(), &expirations, sizeof expirations);
  armed_.reset();
  while (timers_.fire_one(now())) {
  }
  timers_changed();
}

// One thing leads to another, on either side; when nothing has moved for three rounds, nothing will.
void RealRuntime::settle() {
  const auto activity = [this] { return resumed_ + spawned_ + notifier_.settle(); };
  std::uint64_t before = activity();
  // Bounded: somebody may ask again and again.
  for (int quiet = 0, rounds = 0; quiet < 3 && rounds < 1000; ++rounds) {
    run_what_is_due();
    const std::uint64_t now = activity();
    quiet = now == before ? quiet + 1 : 0;
    before = now;
  }
}

void RealRuntime::run_what_is_due() {
  Driver::Caller me;
  asio::post(driver_.io(), [&] {
    fire_due_timers();
    asio::post(driver_.io(), [&] { driver_.finish(me); });  // behind all that is ready by now
  });
  driver_.wait(me);
}

void RealRuntime::run_to_end(awaitable<void> task) {
  Driver::Caller me;
  std::exception_ptr error;
  const auto finish = [&](std::exception_ptr thrown) {
    error = thrown;
    driver_.finish(me);
  };
  asio::post(driver_.io(), [&] {
    will_run_ready_ = true;
    asio::co_spawn(driver_.io(), std::move(task), finish);
    run_ready();
  });
  driver_.wait(me);
  if (error) rethrow_escaped(error);
}

}  // namespace pawl::base
