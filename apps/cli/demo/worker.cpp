#include "apps/cli/demo/worker.hpp"

#include "apps/cli/context.hpp"
#include "apps/cli/demo/ledger.hpp"

#include <pawl/fence.hpp>

#include <fmt/core.h>

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

namespace pawl::cli {

namespace {

using Clock = std::chrono::steady_clock;

template <class... Args>
void report(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stdout);
}

class Worker {
 public:
  Worker(const DemoFolder& folder, std::string name)
      : name_(std::move(name)),
        ledger_(folder.ledger()),
        client_(value_or_fail(Client::open(folder.store(), {.label = name_}))),
        fence_(value_or_fail(Fence::open(folder.fence(), Kind::mutex, demo_lock))),
        mutex_(client_.mutex(demo_lock, {.lease = demo_lease})) {}

  int run() {
    while (!quit_) {
      take_orders();
      if (!quit_) once();
    }
    return 0;
  }

 private:
  void take_orders() {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    // Nothing is left in cin's buffer: the demo sends one order and waits for the answer before the next.
    if (::poll(&in, 1, 0) == 1) take_order();
  }

  void take_order() {
    std::string order;
    if (!std::getline(std::cin, order) || order == "quit") quit_ = true;
    if (order == "pause") pause_ = true;
  }

  void once() {
    const auto asked = Clock::now();
    Result<Hold> hold = mutex_.acquire();
    if (!hold) return trouble(hold.error());
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked);
    if (pause_) pause(*hold);
    const std::int64_t amount = 1 + ++count_ % 9;
    // A stopped program cannot know that its lease ran out: it writes, and the fence must refuse.
    const Result<void> written =
        fence_.admit(hold->sequencer(), [&] { return ledger_.add(hold->token(), name_, amount); });
    if (written) {
      report("wrote {} {} {}", hold->token().to_string(), waited.count(), amount);
    } else if (written.code() == Errc::overtaken) {
      report("refused {}", hold->token().to_string());
    } else {
      trouble(written.error());
    }
  }

  void pause(const Hold& hold) {
    pause_ = false;
    report("paused {}", hold.token().to_string());
    take_order();  // `go`
  }

  void trouble(const Error& error) {
    report("trouble {}", error.to_string());
    quit_ = quit_ || ++troubles_ >= 20;
  }

  const std::string name_;
  const Ledger ledger_;
  Client client_;
  Fence fence_;
  Mutex mutex_;
  std::int64_t count_ = 0;
  int troubles_ = 0;
  bool pause_ = false;
  bool quit_ = false;
};

}  // namespace

int work(const DemoFolder& folder, const std::string& name) { return Worker(folder, name).run(); }

}  // namespace pawl::cli
