#pragma once

#include "apps/cli/demo/worker.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cli {

using Clock = std::chrono::steady_clock;

/// One worker process, as the demo sees it.
struct Member {
  std::string name = {};
  pid_t pid = -1;
  int orders = -1;   ///< to its stdin
  int reports = -1;  ///< from its stdout; -1 when it has ended
  std::string unread = {};
  std::uint64_t acquisitions = 0;
  std::uint64_t refused = 0;
  std::chrono::microseconds longest_wait{};
  bool disturbed = false;  ///< killed, stopped, or not there from the beginning
};

/// What a worker has told.
struct Report {
  enum class What { wrote, paused, refused, trouble } what = What::trouble;
  Member* member = nullptr;
  std::string token = {};
  std::chrono::microseconds waited{};
  std::int64_t amount = 0;
  std::string sentence = {};
};

/// The worker processes: starts them, gives them orders, hears what they report. They die with this process.
class Crew {
 public:
  explicit Crew(DemoFolder folder) : folder_(std::move(folder)) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  Member& start(const std::string& name);
  static void order(const Member& member, const std::string& word);
  static void signal(const Member& member, int number);

  /// What was told within this time; empty when nothing was.
  std::vector<Report> listen(std::chrono::milliseconds patience);
  /// Somebody may still have something to tell.
  bool working() const;
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }

 private:
  void read_from(Member& member, std::vector<Report>& reports);
  static void end(Member& member);

  const DemoFolder folder_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace pawl::cli
