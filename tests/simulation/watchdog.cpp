#include "tests/simulation/watchdog.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <string_view>

namespace pawl::test {

namespace {

constexpr unsigned patience = 120;  // seconds
std::atomic<std::uint64_t> playing = 0;

// Nothing here allocates: it runs in a signal handler.
void print(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void name_the_seed(int signal) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), playing.load()).ptr;
  print(signal == SIGALRM ? "a world does not end" : "died in a world");
  print("; play it again: build/pawl-sim --seed ");
  print({digits.data(), static_cast<std::size_t>(end - digits.data())});
  print("\n");
  ::signal(SIGABRT, SIG_DFL);
  ::raise(signal == SIGALRM ? SIGABRT : signal);
}

/// Only where nobody else has a handler: sanitizers do.
void handle(int signal) {
  struct sigaction present {};
  ::sigaction(signal, nullptr, &present);
  if (present.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = name_the_seed;
  ours.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  ::sigaction(signal, &ours, nullptr);
}

}  // namespace

Watchdog::Watchdog(std::uint64_t seed) {
  playing = seed;
  for (const int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS}) handle(signal);
  ::alarm(patience);
}

Watchdog::~Watchdog() { ::alarm(0); }

}  // namespace pawl::test
