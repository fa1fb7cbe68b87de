// The program that a Child runs: obeys the commands of file_child.hpp, from file 3, and answers in file 4.

#include "base/boot_clock.hpp"
#include "base/duration.hpp"
#include "base/real_runtime.hpp"
#include "store/file/environment.hpp"

#include <pawl/pawl.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::process {
namespace {

using namespace std::chrono_literals;
using store::file::Environment;
using store::file::Tables;

void reply(const std::string& line) {
  const std::string text = line + "\n";
  (void)!::write(4, text.data(), text.size());
}

std::string outcome(const Result<Hold>& hold) {
  return hold ? "ok " + hold->token().to_string() : hold.error().to_string();
}
std::string outcome(const Result<void>& done) { return done ? "ok" : done.error().to_string(); }

class Server {
 public:
  std::string obey(std::istringstream words) {
    std::string verb, first, second, third;
    words >> verb >> first >> second >> third;
    if (verb == "open") return open(first, second, third);
    if (verb == "open-default") return take(Client::open());
    if (verb == "start-open") return start_open(first);
    if (verb == "finish-open") return take(opened_.get());
    if (verb == "opening") return opened_.wait_for(0s) == std::future_status::ready ? "no" : "yes";
    if (verb == "acquire") return acquire(first, second);
    if (verb == "try") return outcome(hold_ = client_->mutex(first).acquire({.wait = 0ns}));
    if (verb == "start") return start(first);
    if (verb == "finish") return outcome(hold_ = started_.get());
    if (verb == "release") return outcome(hold_->release());
    if (verb == "valid") return hold_->valid() ? "yes" : "no";
    if (verb == "check") return outcome(client_->check(hold_->sequencer()));
    if (verb == "started") return started_.wait_for(0s) == std::future_status::ready ? "yes" : "no";
    if (verb == "renewals") return std::to_string(client_->metrics().renewals);
    if (verb == "hold-many") return hold_many(std::stoi(first));
    if (verb == "release-many") return release_many();
    if (verb == "wait-many") return wait_many(std::stoi(first));
    if (verb == "finish-many") return finish_many();
    if (verb == "use-tokens") return use_tokens(first);
    if (verb == "await-loss") return await_loss();
    if (verb == "hold-for") return hold_for(first, second);
    if (verb == "await-lateness") return await_lateness();
    if (verb == "await-renewals") return await_renewals();
    if (verb == "holders" || verb == "waiters") return count(verb, first);
    if (verb == "fork-and") return fork_and(first);
    if (verb == "stop-inside") return inside(first, SIGSTOP);
    if (verb == "die-inside") return inside(first, SIGKILL);
    if (verb == "mount-small") return mount_small(first, second);
    if (verb == "fill") return fill(first);
    if (verb == "free") return ::unlink(first.c_str()) == 0 ? "ok" : "cannot remove it";
    if (verb == "acquire-until-refused") return acquire_until_refused();
    if (verb == "crowd") return crowd(first);
    if (verb == "close") return outcome(client_->close());
    return "unknown command " + verb;
  }

 private:
  std::string open(const std::string& url, const std::string& lease, const std::string& timeout) {
    ClientOptions options;
    options.timeout = timeout.empty() ? 2s : base::parse_duration(timeout).value();
    if (!lease.empty()) options.lease = base::parse_duration(lease).value();
    if (const auto arm = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "arm_steps"))) arm();
    return take(Client::open(url, std::move(options)));
  }

  std::string start_open(const std::string& url) {
    opened_ = std::async(std::launch::async, [url] { return Client::open(url, {.timeout = 20s}); });
    return "ok";
  }

  std::string take(Result<Client> client) {
    if (!client) return client.error().to_string();
    client_ = std::move(*client);
    return "ok";
  }

  std::string acquire(const std::string& name, const std::string& delay) {
    AcquireOptions options;
    options.wait = 10s;
    if (!delay.empty()) options.lock_delay = std::chrono::milliseconds(std::stol(delay));
    return outcome(hold_ = client_->mutex(name).acquire(options));
  }

  std::string acquire_until_refused() {
    std::vector<Hold> holds;
    for (int i = 0; i < 100'000; ++i) {
      Result<Hold> hold = client_->mutex("job " + std::to_string(i)).acquire({.wait = 100ms});
      if (!hold) return hold.error().to_string();
      holds.push_back(std::move(*hold));
    }
    return "never refused";
  }

  std::string start(const std::string& name) {
    started_ = std::async(std::launch::async, [mutex = client_->mutex(name)]() mutable { return mutex.acquire(); });
    return "ok";
  }

  Mutex one_of_many(int i) { return client_->mutex("many" + std::to_string(i)); }

  std::string hold_many(int count) {
    for (int i = 0; i < count; ++i) many_.push_back(one_of_many(i).acquire({.wait = 10s}).value());
    return "ok";
  }

  std::string release_many() {
    for (Hold& hold : std::exchange(many_, {})) {
      if (const Result<void> released = hold.release(); !released) return released.error().to_string();
    }
    return "ok";
  }

  std::string wait_many(int count) {
    for (int i = 0; i < count; ++i) {
      waits_.push_back(std::async(std::launch::async, [mutex = one_of_many(i)]() mutable { return mutex.acquire(); }));
    }
    return "ok";
  }

  std::string finish_many() {
    for (auto& wait : std::exchange(waits_, {})) {
      if (const Result<Hold> hold = wait.get(); !hold) return hold.error().to_string();
    }
    return "ok";
  }

  std::string await_loss() {
    const std::stop_token lost = hold_->lost();
    for (int i = 0; i < 20'000 && !lost.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
    return lost.stop_requested() ? "ok" : "not lost";
  }

  std::string hold_for(const std::string& name, const std::string& max_hold) {
    const Duration most = base::parse_duration(max_hold).value();
    bounded_ = client_->mutex(name).acquire({.wait = 10s, .max_hold = most});
    if (!bounded_) return bounded_.error().to_string();
    const base::Time now = base::read_boot_clock();
    deadline_ = now + bounded_->remaining();
    on_lost_.emplace(bounded_->lost(), [this] { told_.set_value(base::read_boot_clock()); });
    return "ok";
  }

  std::string await_lateness() {
    auto told = told_.get_future();
    if (told.wait_for(20s) != std::future_status::ready) return "not lost";
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(told.get() - deadline_).count());
  }

  static std::string use_tokens(const std::string& folder) {
    const auto environment = environment_of(folder);
    const Environment::Work work = [](Tables& tables) {
      tables.counters().last_token = tables.counters().reserved - 2;
    };
    const auto attempt = environment->attempt(work, base::RealRuntime::process_wide(), 5s);
    return attempt.end == Environment::Attempt::End::done ? "ok" : attempt.error.to_string();
  }

  std::string await_renewals() {
    const auto seen = client_->metrics().renewals;
    const std::stop_token lost = hold_->lost();
    for (int i = 0; i < 20'000; ++i) {
      if (lost.stop_requested()) return "lost";
      if (client_->metrics().renewals >= seen + 3) return "ok";
      std::this_thread::sleep_for(1ms);
    }
    return "no renewals";
  }

  std::string count(const std::string& which, const std::string& name) {
    const Result<LockView> view = client_->inspect(name);
    if (!view) return view.error().to_string();
    return std::to_string(which == "holders" ? view->holders.size() : view->waiters.size());
  }

  /// exit: runs destructors. exec: becomes another program. release: releases and asks for more. sleep: lives on.
  std::string fork_and(const std::string& how) {
    const pid_t child = ::fork();
    if (child == 0) in_child(how);
    if (how == "sleep") return "ok";
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? "exited " + std::to_string(WEXITSTATUS(status)) : "killed";
  }

  [[noreturn]] void in_child(const std::string& how) {
    if (how == "exec") ::execlp("true", "true", nullptr);
    if (how == "sleep") {
      ::prctl(PR_SET_PDEATHSIG, SIGHUP);
      ::signal(SIGHUP, SIG_IGN);
      ::prctl(PR_SET_NAME, "pawl-orphan");
      pollfd end_of_the_test{3, 0, 0};
      (void)::poll(&end_of_the_test, 1, 30'000);
      ::_exit(0);
    }
    if (how == "release") {
      const bool refused = hold_->release().code() == Errc::closed && client_->inspect("job").code() == Errc::closed;
      ::_exit(refused ? 0 : 1);
    }
    if (how == "destroy") {
      hold_ = Result<Hold>(Hold());
      client_.reset();
      ::_exit(0);
    }
    if (how == "reopen") {  // a client of its own, in the same folder
      Result<Client> own = Client::open(url_of_parent(), {});
      const bool busy = own && own->mutex("job").try_acquire().code() == Errc::busy;
      const bool other = own && own->mutex("other").try_acquire().has_value();
      ::_exit(busy && other ? 0 : 1);
    }
    std::exit(0);
  }

  static std::string url_of_parent() { return std::getenv("PAWL_TEST_URL"); }

  static std::shared_ptr<Environment> environment_of(const std::string& folder) {
    base::RealRuntime& runtime = base::RealRuntime::process_wide();
    store::file::FolderOptions options;
    options.path = folder;
    return Environment::open(options, runtime, base::Deadline::in(runtime.now(), 5s)).value();
  }

  /// Thousands of locks with long labels, as one session of this process, without the work of a client for each.
  std::string crowd(const std::string& folder) {
    base::RealRuntime& runtime = base::RealRuntime::process_wide();
    crowded_ = environment_of(folder);
    const auto session = runtime.make_id<store::SessionId>();
    store::file::SessionRecord record{.lease = 24h, .process = crowded_->process()};
    Result<void> done;
    const Environment::Work open = [&](Tables& tables) { done = tables.open_session(session, record); };
    crowded_->attempt(open, runtime, 5s);
    const std::string label(20'000, 'x');
    for (int i = 0; i < 100'000 && done; i += 100) {
      const Environment::Work claim = [&](Tables& tables) {
        tables.counters().reserved = tables.counters().last_token + 1000;  // nobody uses these tokens
        for (int j = i; j < i + 100 && done; ++j) {
          const store::LockKey key{Kind::mutex, base::LockName::make("crowd " + std::to_string(j)).value()};
          store::Claim one{.id = runtime.make_id<store::ClaimId>(), .session = session, .key = key};
          one.label = label;
          const auto state = tables.claim(one);
          if (!state) done = state.error();
        }
      };
      if (crowded_->attempt(claim, runtime, 5s).end != Environment::Attempt::End::done) return "cannot claim";
    }
    return outcome(done);
  }

  /// In a transaction of the store itself.
  std::string inside(const std::string& folder, int signal) {
    base::RealRuntime& runtime = base::RealRuntime::process_wide();
    const auto environment = environment_of(folder);
    const Environment::Work work = [signal](Tables& tables) {
      ++tables.counters().last_lock;
      tables.save();
      ::kill(::getpid(), signal);
      // The signal may come to another thread first: this one must not run on.
      for (int i = 0; i < 1000; ++i) ::sched_yield();
    };
    const auto attempt = environment->attempt(work, runtime, 1s);
    return attempt.end == Environment::Attempt::End::done ? "done" : "not done";
  }

  static std::string mount_small(const std::string& path, const std::string& size) {
    if (::unshare(CLONE_NEWNS) != 0) return "cannot unshare";
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "cannot make private";
    ::mkdir(path.c_str(), 0755);
    const std::string options = "size=" + size;
    return ::mount("tmpfs", path.c_str(), "tmpfs", 0, options.c_str()) == 0 ? "ok" : "cannot mount";
  }

  static std::string fill(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(4096, 'x');
    while (::write(fd, block.data(), block.size()) > 0) {
    }
    ::close(fd);
    return "ok";
  }

  std::optional<Client> client_;
  std::future<Result<Client>> opened_;
  Result<Hold> hold_ = Hold();
  std::shared_ptr<Environment> crowded_;
  std::future<Result<Hold>> started_;
  std::vector<Hold> many_;
  std::vector<std::future<Result<Hold>>> waits_;
  Result<Hold> bounded_ = Hold();
  base::Time deadline_ = {};
  std::promise<base::Time> told_;
  std::optional<std::stop_callback<std::function<void()>>> on_lost_;
};

}  // namespace
}  // namespace pawl::process

int main() {
  // Also from within a pid namespace, this names it as those outside see it.
  pawl::process::reply("pid " + std::filesystem::read_symlink("/proc/self").string());
  pawl::process::Server server;
  std::string line;
  char c = 0;
  while (::read(3, &c, 1) == 1) {
    if (c != '\n') {
      line += c;
      continue;
    }
    const std::string answer = server.obey(std::istringstream(line));
    line.clear();
    pawl::process::reply(answer);
  }
  ::_exit(0);  // as if killed: the test has ended, and nobody reads answers any more
}
