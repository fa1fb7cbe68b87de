#pragma once

#include "tests/support/naive_redis.hpp"

#include <pawl/pawl.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

/// A process that can be stopped and killed: the test program itself, started with `--child`, which does what it is told.
namespace pawl::hazard {

using namespace std::chrono_literals;

/// | command                       | answer                                                                 |
/// |-------------------------------|------------------------------------------------------------------------|
/// | open URL                      | ok                                                                     |
/// | acquire NAME, try NAME        | ok TOKEN                                                               |
/// | release, valid                | ok; yes or no                                                          |
/// | fenced-write PATH TEXT        | ok; the fence is PATH.fence                                            |
/// | write PATH TEXT               | ok, whoever holds what                                                 |
/// | clock                         | milliseconds since 1970, as it believes                                |
/// | naive-setnx PORT KEY OWNER    | yes or no: the first of two steps                                      |
/// | naive-take PORT KEY MS        | yes or no                                                              |
/// An error is answered as "CODE: sentence".
class Part {
 public:
  std::string obey(std::istringstream words) {
    std::string verb, first, second, third;
    words >> verb >> first >> second >> third;
    if (verb == "open") return open(first);
    if (verb == "acquire") return outcome(hold_ = client_->mutex(first).acquire({.wait = 60s}));
    if (verb == "try") return outcome(hold_ = client_->mutex(first).try_acquire());
    if (verb == "release") return outcome(hold_->release());
    if (verb == "valid") return hold_->valid() ? "yes" : "no";
    if (verb == "fenced-write") return fenced_write(first, second);
    if (verb == "write") return write(first, second), "ok";
    if (verb == "clock") return std::to_string(std::chrono::system_clock::now().time_since_epoch() / 1ms);
    test::naive::Redis redis(static_cast<std::uint16_t>(std::stoi(first)));
    if (verb == "naive-setnx") return test::naive::TwoStepLock(redis, second).first_step(third) ? "yes" : "no";
    const test::naive::Milliseconds lease(std::stoi(third));
    if (verb == "naive-take") return test::naive::UnownedLock(redis, second).take("child", lease) ? "yes" : "no";
    return "unknown command";
  }

 private:
  static std::string outcome(const Result<Hold>& hold) {
    return hold ? "ok " + hold->token().to_string() : hold.error().to_string();
  }
  static std::string outcome(const Result<void>& done) { return done ? "ok" : done.error().to_string(); }

  std::string open(const std::string& url) {
    Result<Client> client = Client::open(url);
    if (!client) return client.error().to_string();
    client_ = std::move(*client);
    return "ok";
  }

  std::string fenced_write(const std::string& path, const std::string& text) {
    const Sequencer sequencer = hold_->sequencer();
    Result<Fence> fence = Fence::open(path + ".fence", sequencer.kind, sequencer.name, {.follow_new_store = true});
    if (!fence) return fence.error().to_string();
    return outcome(fence->admit(sequencer, [&] { write(path, text); }));
  }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::optional<Client> client_;
  Result<Hold> hold_ = Result<Hold>(Hold());
};

/// What the process does. It ends as a crash does: nothing is let go.
[[noreturn]] inline void play() {
  Part part;
  for (std::string line; std::getline(std::cin, line);) std::cout << part.obey(std::istringstream(line)) << std::endl;
  ::_exit(0);
}

class Child {
 public:
  /// `clock_ahead`: how much later it is there than elsewhere.
  explicit Child(std::chrono::seconds clock_ahead = 0s) {
    int there[2], back[2];
    if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    const std::string ahead = std::to_string(clock_ahead.count());
    pid_ = ::fork();
    if (pid_ == 0) become(there[0], back[1], ahead.c_str());
    ::close(there[0]);
    ::close(back[1]);
    to_ = there[1];
    from_ = back[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    ::close(to_);
    ::close(from_);
  }

  std::string say(const std::string& command) {
    send(command);
    return answer();
  }
  void send(const std::string& command) {
    const std::string line = command + "\n";
    if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) throw std::runtime_error("write");
  }
  /// SIGSTOP, and waits until the kernel has done it.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  void go_on() const { ::kill(pid_, SIGCONT); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  /// To what was sent; the end of it when the child is dead.
  std::string answer() {
    std::string line;
    pollfd ready{from_, POLLIN, 0};
    while (::poll(&ready, 1, 60'000) == 1) {
      char c = 0;
      if (::read(from_, &c, 1) != 1) return "(dead)";
      if (c == '\n') return line;
      line += c;
    }
    return "(no answer)";
  }
  bool answers_within(std::chrono::milliseconds time) const {
    pollfd ready{from_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(time.count())) == 1;
  }

 private:
  [[noreturn]] static void become(int in, int out, const char* ahead) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::setenv("PAWL_HAZARD_CLOCK_AHEAD", ahead, 1);
    ::execl("/proc/self/exe", "hazard-child", "--child", nullptr);
    ::_exit(99);
  }

  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace pawl::hazard
