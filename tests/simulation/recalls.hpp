#pragma once

#include "tests/simulation/ledger.hpp"

#include <optional>
#include <vector>

namespace pawl::test {

/// What an operator has asked back or taken away. A complaint says what was promised and not kept, in good weather:
///   - the holder of what was asked back has been told so;
///   - what was taken away is not valid any more.
class Recalls {
 public:
  void add(const PlayedLock& lock, Token claim, bool taken_away, base::Time now) {
    all_.push_back({&lock, claim.with_sub(0), taken_away, now});
  }
  /// Others may hold it as well: that is what was asked for.
  bool taken_away(const Held& held) const;
  /// Whoever was granted one of these and does not know it yet is refused.
  bool any_taken_away(const PlayedLock& lock) const;
  /// `fair_from`: since when the weather is good.
  Complaint check(const Held& held, base::Time fair_from, base::Time now) const;

 private:
  struct Recall {
    const PlayedLock* lock;
    Token claim;
    bool taken_away;
    base::Time at;
  };
  std::vector<Recall> all_;
};

}  // namespace pawl::test
