#include "apps/cli/demo/screen.hpp"

#include "apps/cli/table.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

std::uint64_t all_acquisitions(const Crew& crew) {
  std::uint64_t sum = 0;
  for (const auto& member : crew.members()) sum += member->acquisitions;
  return sum;
}

/// Jain's index over those who were left alone: 1 when all had the same, 1/n when one had everything.
double fairness(const Crew& crew) {
  double sum = 0;
  double squares = 0;
  int number = 0;
  for (const auto& member : crew.members()) {
    if (member->disturbed) continue;
    const auto share = static_cast<double>(member->acquisitions);
    sum += share;
    squares += share * share;
    ++number;
  }
  return squares > 0 ? sum * sum / (number * squares) : 0;
}

std::string format_wait(std::chrono::microseconds wait) {
  if (wait < 1s) return fmt::format("{:.1f}ms", static_cast<double>(wait.count()) / 1e3);
  return fmt::format("{:.2f}s", static_cast<double>(wait.count()) / 1e6);
}

std::string fate(const Member& member, const Play& play) {
  if (member.refused > 0) {
    return fmt::format("stopped for {} while it held the lock", format_wait(play.stopped_for()));
  }
  if (member.name.ends_with('b')) return "took the killed one's place";
  return member.disturbed ? "killed with -9 while it held the lock" : "";
}

void print_workers(const Crew& crew, const Play& play) {
  std::vector<Row> rows{{"WORKER", "ACQUISITIONS", "LONGEST WAIT", "REFUSED", "FATE"}};
  for (const auto& member : crew.members()) {
    rows.push_back({member->name, std::to_string(member->acquisitions), format_wait(member->longest_wait),
                    std::to_string(member->refused), fate(*member, play)});
  }
  fmt::print("\n{}\n", format_table(rows));
}

}  // namespace

Screen::Screen() : terminal_(::isatty(STDOUT_FILENO) != 0) {}

void Screen::tell(const std::string& sentence) {
  fmt::print("{}{}\n{}", terminal_ ? "\r\x1b[K" : "", sentence, terminal_ ? line_ : "");
  std::fflush(stdout);
}

void Screen::progress(const Crew& crew, const Play& play) {
  if (Clock::now() - printed_ < (terminal_ ? 100ms : 1000ms)) return;
  printed_ = Clock::now();
  line_ = fmt::format("{:4.1f}s ", static_cast<double>(play.elapsed().count()) / 1e3);
  for (const auto& member : crew.members()) line_ += fmt::format(" {} {}", member->name, member->acquisitions);
  line_ += fmt::format("  {}  token {}", rate_of(all_acquisitions(crew)), play.token());
  fmt::print("{}{}{}", terminal_ ? "\r" : "", line_, terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
}

std::string Screen::rate_of(std::uint64_t acquisitions) {
  const auto now = Clock::now();
  const std::chrono::duration<double> passed = now - counted_;
  if (passed >= 500ms) {
    rate_ = static_cast<double>(acquisitions - count_) / passed.count();
    count_ = acquisitions;
    counted_ = now;
  }
  return fmt::format("{:.0f} hand-offs/s", rate_);
}

void Screen::end_progress() {
  if (terminal_) fmt::print("\n");
}

bool print_outcome(const Crew& crew, const Play& play, const Ledger::Audit& audit) {
  print_workers(crew, play);
  std::uint64_t refused = 0;
  std::chrono::microseconds longest{};
  for (const auto& member : crew.members()) {
    refused += member->refused;
    longest = std::max(longest, member->longest_wait);
  }
  const bool right = audit.total == play.expected_total() && audit.adds_up && audit.in_order && audit.entries > 0;
  const std::string freed = play.recovery() ? format_wait(*play.recovery()) : "never";
  std::vector<Row> rows;
  rows.push_back({"acquisitions", std::to_string(all_acquisitions(crew))});
  rows.push_back({"fairness", fmt::format("{:.3f} of 1, among the workers that were left alone", fairness(crew))});
  rows.push_back({"longest wait", format_wait(longest) + ", the stopped holder's lease included"});
  rows.push_back({"after the kill", freed + " until another worker had written"});
  rows.push_back({"stale writes", fmt::format("{} refused by the fence", refused)});
  rows.push_back({"ledger total", fmt::format("{} expected, {} found", play.expected_total(), audit.total)});
  rows.push_back({"ledger order", audit.in_order && audit.adds_up ? "every token above the one before"
                                                                  : "WRONG: two writers at a time, or a stale one"});
  fmt::print("{}\n{}\n", format_table(rows),
             !right         ? "WRONG: the ledger is damaged."
             : refused == 0 ? "WRONG: no stale write was refused."
                            : "All is well: a holder was killed, another one overtaken, and nothing was lost.");
  return right && refused > 0;
}

}  // namespace pawl::cli
