// The program that scarcity_test.cpp runs: does everything that a client does, while the kernel refuses something once
// (scarcity_preload.cpp) or for good (limits). Then, with all that it needs, it does the same again, which must work.
//
// usage: pawl_scarcity URL fail N | URL files N | URL threads N | URL memory N | URL rested-memory N
// answers on stdout: one line for each thing that went wrong, "refused CALL during open|use|close" or "refused nothing" in
// the first case, "clean" when everything was closed at the store, and "open files: ..." at the end.
// `memory`: less is done, and the lock must be free afterwards: "left behind" if it is not, "refused nothing" when there were
// less than N allocations. `rested-memory`: the same while pawl's own thread drives, which callers then ask to leave.

#include <pawl/asio.hpp>
#include <pawl/pawl.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace {

using namespace std::chrono_literals;
using pawl::Client;
using pawl::Hold;
using pawl::Result;

constexpr auto enough = 20s;
constexpr uid_t somebody = 61'947;

void say(const std::string& line) { std::printf("%s\n", line.c_str()); }

/// A thread that does one thing after another, and is there before anything is scarce.
class Helper {
 public:
  ~Helper() {
    give([this] { over_ = true; });
    thread_.join();
  }
  void give(std::function<void()> job) {
    wait();
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !job_; });
  }

 private:
  void run() {
    while (!over_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return static_cast<bool>(job_); });
      const auto job = job_;
      lock.unlock();
      job();
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool over_ = false;  // of the thread
  std::thread thread_{[this] { run(); }};
};

/// Everything once. What fails is said, and does not keep the rest from being tried.
class Round {
 public:
  Round(std::string url, Helper& helper) : url_(std::move(url)), helper_(helper) {}

  /// `step` is called with the name of each step when it is over.
  bool play(const std::function<void(const char*)>& step) {
    open(first_);
    open(second_);
    step("open");
    if (first_) lock_and_release();
    if (first_) renew();
    if (first_ && second_) wait_for_each_other();
    step("use");
    close(second_);
    close(first_);
    step("close");
    return well_;
  }
  bool clean() const { return clean_; }

 private:
  template <class T>
  bool ok(const char* what, const Result<T>& result) {
    if (result) return true;
    say(std::string(what) + ": " + result.error().to_string());
    return well_ = false;
  }
  void open(std::optional<Client>& client) {
    pawl::ClientOptions options;
    options.timeout = 2s;
    options.lease = 30s;
    options.observer = [](const pawl::Event&) {};
    Result<Client> opened = Client::open(url_, std::move(options));
    if (ok("open", opened)) client = std::move(*opened);
  }
  void lock_and_release() {
    Result<Hold> hold = first_->mutex("lock").acquire({.wait = 5s});
    if (ok("lock", hold)) ok("release", hold->release());
    ok("try", first_->mutex("try").try_acquire());
  }
  // A lease that is over before it was renewed says nothing: the machine may stand still for so long. Then once more.
  void renew() {
    const auto end = std::chrono::steady_clock::now() + enough;
    const std::uint64_t before = first_->metrics().renewals;
    const auto waits = [&] { return first_->metrics().renewals == before && std::chrono::steady_clock::now() < end; };
    while (waits()) {
      Result<Hold> hold = first_->mutex("renew").acquire({.wait = 5s, .lease = short_lease_});
      if (!ok("lock for a short lease", hold)) return;
      while (waits() && hold->valid()) std::this_thread::sleep_for(1ms);
    }
    if (first_->metrics().renewals == before) {
      say("renew: nothing was renewed");
      well_ = false;
    }
  }
  void wait_for_each_other() {
    Result<Hold> hold = first_->mutex("wait").acquire({.wait = 5s});
    if (!ok("lock before the wait", hold)) return;
    Result<Hold> waited = pawl::Error{pawl::Errc::closed, "not tried"};
    std::atomic<bool> begun = false;
    helper_.give([&] {
      begun = true;
      waited = second_->mutex("wait").acquire({.wait = enough});
    });
    const auto view = [&] { return first_->inspect("wait"); };
    const auto end = std::chrono::steady_clock::now() + 2s;  // it may have failed
    while (std::chrono::steady_clock::now() < end) {
      const auto seen = view();
      if (seen && !seen->waiters.empty()) break;
      std::this_thread::sleep_for(1ms);
    }
    ok("release to the other", hold->release());
    helper_.wait();
    if (ok("wait", waited)) ok("release after the wait", waited->release());
  }
  void close(std::optional<Client>& client) {
    if (client && !ok("close", client->close(10s))) clean_ = false;
    client.reset();
  }

  const std::string url_;
  const std::chrono::milliseconds short_lease_ = url_.starts_with("etcd") ? 2s : 600ms;  // etcd takes none below
  Helper& helper_;
  std::optional<Client> first_, second_;
  bool well_ = true;
  bool clean_ = true;
};

/// Which signals this thread does not hear.
std::string signals() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  std::string text;
  for (int signal = 1; signal < 65; ++signal) text += sigismember(&blocked, signal) == 1 ? 'x' : '.';
  return text;
}

class Limit {
 public:
  Limit(__rlimit_resource what, rlim_t most) : what_(what) {
    ::getrlimit(what_, &before_);
    rlimit scarce = before_;
    scarce.rlim_cur = most;
    ::setrlimit(what_, &scarce);
  }
  ~Limit() { ::setrlimit(what_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const __rlimit_resource what_;
  rlimit before_{};
};

/// Of scarcity_preload.cpp.
template <class Function>
Function preloaded(const char* name) {
  const auto function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  if (function == nullptr) std::exit(2);
  return function;
}

bool play_scarcely(Round& round, const std::string& how, int n) {
  if (how == "fail") {
    const auto from_now_on = preloaded<void (*)(int)>("fail_nth_from_now_on");
    const auto failed = preloaded<const char* (*)()>("fail_nth_failed");
    std::string refused = "nothing";
    from_now_on(n);
    const bool well = round.play([&](const char* step) {
      if (refused == "nothing" && failed() != nullptr) refused = std::string(failed()) + " during " + step;
    });
    from_now_on(0);
    say("refused " + refused);
    return well;
  }
  const Limit limit(how == "files" ? RLIMIT_NOFILE : RLIMIT_NPROC, static_cast<rlim_t>(n));
  return round.play([](const char*) {});
}

/// Takes a lock and lets go of it, in both forms, and takes another one, which goes with the client. What is thrown, the user
/// would see.
void use_once(const std::string& url, const std::string& lock, const std::string& another) {
  Client client(url);
  pawl::Mutex mutex = client.mutex(lock);
  Result<Hold> hold = mutex.acquire({.wait = 5s});
  const bool released = hold && hold->release();
  if (released && mutex.try_acquire().code() == pawl::Errc::busy) say("left behind by a release");
  if (mutex.try_lock_for(5s)) mutex.unlock();
  const Result<Hold> other = client.mutex(another).acquire({.wait = 5s});
}

/// A wait whose end no caller sees to: afterwards pawl's own thread drives.
void let_the_background_drive(Client& client, const std::string& taken) {
  const auto over = std::make_shared<std::promise<void>>();
  pawl::async_acquire(client.mutex(taken), {.wait = 1ms}, [over](const Result<Hold>&) { over->set_value(); });
  over->get_future().wait();
}

/// One allocation fails. The locks are of this run alone: what a process leaves that it ends has the time of its lease.
int play_without_memory(const std::string& url, bool rested, int n) {
  pawl::ClientOptions options;
  options.lease = 10min;  // nothing of its is renewed meanwhile
  Client next(url, std::move(options));
  const std::array<std::string, 2> locks = {"first" + std::to_string(n), "second" + std::to_string(n)};
  for (const std::string& lock : locks) next.mutex(lock).acquire().value();  // it has all that it needs
  if (rested) {
    const Hold taken = next.mutex(locks[0]).acquire().value();
    let_the_background_drive(next, locks[0]);
  }
  const auto fail_nth = preloaded<void (*)(int)>("fail_nth_allocation_from_now_on");
  fail_nth(n);
  try {
    use_once(url, locks[0], locks[1]);
  } catch (const std::bad_alloc&) {
    say("thrown");
  } catch (const std::exception& thrown) {
    say(std::string("thrown: ") + thrown.what());
  }
  if (preloaded<int (*)()>("allocations_until_failure")() > 0) say("refused nothing");
  fail_nth(0);
  for (const std::string& lock : locks) {
    if (!next.mutex(lock).acquire({.wait = enough})) say("left behind");
  }
  return next.close(10s) ? 0 : 1;
}

/// What its descriptors stand for, sorted, without the numbers of sockets and of the standard files.
std::string open_files() {
  std::multiset<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the one by which we look, and what is closed meanwhile
    const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
    const bool standard = std::atoi(entry.path().filename().c_str()) <= 2;
    if (!gone && !standard && file.find("/proc/") == std::string::npos) files.insert(file.substr(0, file.find(":[")));
  }
  std::string text;
  for (const std::string& file : files) text += " " + file;
  return text;
}

/// The same once the connections are gone, which are closed behind the caller's back.
std::string files_left() {
  const auto end = std::chrono::steady_clock::now() + enough;
  std::string files = open_files();
  while (files.find("socket") != std::string::npos && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
    files = open_files();
  }
  return files;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const std::string url = words[1], how = words[2];
  // The limit counts all threads of a user, and root has none.
  if (how == "threads" &&
      (::setresgid(somebody, somebody, somebody) != 0 || ::setresuid(somebody, somebody, somebody) != 0))
    return 2;
  const bool rested = how == "rested-memory";
  if (rested || how == "memory") return play_without_memory(url, rested, std::atoi(words[3]));
  Helper helper;
  std::string mine = signals(), its;
  helper.give([&] { its = signals(); });
  helper.wait();
  Round scarce(url, helper);
  const bool well = play_scarcely(scarce, how, std::atoi(words[3]));
  if (well) say("well");
  if (scarce.clean()) say("clean");
  if (signals() != mine) say("signals are blocked");
  helper.give([&] {
    if (signals() != its) say("signals are blocked in the helper");
  });
  helper.wait();
  Round again(url, helper);
  if (!again.play([](const char*) {})) return 1;
  say("open files:" + files_left());
  return 0;
}
