#pragma once

#include <pawl/options.hpp>
#include <pawl/sequencer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

/// Who stands behind a claim.
struct Owner {
  std::string host = {};
  std::int64_t pid = 0;
  std::string label = {};
  bool foreign = false;  ///< a client of another library: nothing more is known
};

/// Who leads an election.
struct Leader {
  std::string value = {};  ///< what it has campaigned with
  Token token = {};
  Owner owner = {};
  Duration age = {};  ///< since it was elected
};

/// One holder or waiter, as the store sees it.
struct ClaimView {
  std::string claim = {};  ///< the claim's id, 32 hex digits: what `revoke` takes
  Mode mode = Mode::exclusive;
  Owner owner = {};
  Duration age = {};                      ///< since it was granted (holders) or since it asked (waiters)
  Token token = {};                       ///< holders only
  std::vector<std::uint32_t> slots = {};  ///< which permits it holds
  std::uint32_t permits = 0;              ///< how many it wants or holds, of a semaphore
  std::string value = {};                 ///< what a candidate stands for, in an election
  Duration lease_left = {};               ///< until the store stops believing in it, unless it is renewed
  bool release_requested = false;         ///< somebody has asked for the lock with `revoke`
};

/// "Who holds it, since when, and who waits?"
struct LockView {
  Kind kind = Kind::mutex;
  std::string scheme = {};
  std::string name = {};
  std::uint32_t permits = 0;  ///< how many there are, of a semaphore
  std::vector<ClaimView> holders = {};
  std::vector<ClaimView> waiters = {};  ///< in the order in which they will be served, where the scheme is fair
  Duration shut_for = {};               ///< lock-delay after a failed holder: nobody is granted before
};

/// How `revoke` goes about it.
struct RevokeOptions {
  bool now = false;             ///< false: ask the holder to let go; true: take it away at once (beyond promise 2)
  std::string_view claim = {};  ///< which holder or waiter; empty: the only holder
};

}  // namespace pawl
