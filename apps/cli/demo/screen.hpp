#pragma once

#include "apps/cli/demo/ledger.hpp"
#include "apps/cli/demo/play.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace pawl::cli {

/// One line that is written anew on a terminal, and a line a second elsewhere; what happens stands above it.
class Screen {
 public:
  Screen();

  void tell(const std::string& sentence);
  /// Acquisitions per worker, hand-offs per second, the current token.
  void progress(const Crew& crew, const Play& play);
  void end_progress();

 private:
  std::string rate_of(std::uint64_t acquisitions);

  const bool terminal_;
  std::string line_;
  Clock::time_point printed_ = Clock::now();
  Clock::time_point counted_ = printed_;
  std::uint64_t count_ = 0;
  double rate_ = 0;
};

/// The table at the end. False: the ledger is wrong, or no stale write was refused.
bool print_outcome(const Crew& crew, const Play& play, const Ledger::Audit& audit);

}  // namespace pawl::cli
