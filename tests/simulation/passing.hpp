#pragma once

#include "tests/simulation/ledger.hpp"

#include <cstdint>
#include <map>
#include <tuple>

namespace pawl::test {

/// How locks are passed on inside clients. A complaint says what was promised and not kept:
///   - once a client knows that others wait elsewhere, it passes a mutex on within the bounds of that lock only;
///   - what was asked back is not passed on at all.
class Passing {
 public:
  /// A notice has told the holder's client that others wait.
  void contended(const Held& holder, base::Time now);
  /// Its holder has been asked to let go.
  void asked_back(const Held& holder, base::Time now) { asked_back_.try_emplace(chain(holder), now); }
  /// `resumed`: since when the client's process has not been paused. `alone`: not with other locks, for which it may
  /// have waited since it got this one.
  Complaint granted(const Held& held, base::Time resumed, bool alone, base::Time now);

 private:
  /// Holds of one claim.
  using Chain = std::tuple<const base::SimProcess*, const PlayedLock*, Token>;
  struct Contention {
    base::Time since;
    std::uint32_t passes = 0;
  };
  static Chain chain(const Held& held) { return {held.process, held.lock, held.claim()}; }

  std::map<Chain, Contention> contended_;
  std::map<Chain, base::Time> asked_back_;
};

}  // namespace pawl::test
