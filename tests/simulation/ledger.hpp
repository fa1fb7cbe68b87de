#pragma once

#include "base/simulated_runtime.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/simulation/script.hpp"

#include <pawl/fence.hpp>
#include <pawl/hold.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {

/// One hold as its user sees it.
struct Held {
  const base::SimProcess* process;
  const Hold* hold;
  const PlayedLock* lock;
  Token token;
  std::vector<std::uint32_t> slots;
  std::string value;
  Duration lock_delay;
  std::uint64_t number;  ///< of the grant, in the order in which users got them
  Duration lease = {};
  base::Time since = {};    ///< its user has it
  bool doubtful = false;    ///< perhaps granted after the store had forgotten its client: it may be older than it looks
  bool downgrades = false;  ///< its user has asked for it, and is no writer from then on
  base::Time until = {};    ///< by its own clock, when it was last seen valid
  bool failed = false;      ///< it was seen invalid, and nobody had let go of it
  bool written = false;     ///< the fence has admitted it in its present mode
  std::optional<base::Time> untold_since = {};
  std::optional<base::Time> over_at = {};  ///< the store has forgotten it, and its client has been told to look

  /// Those that were passed on inside a client have this in common.
  Token claim() const { return token.with_sub(0); }

  Mode mode() const { return downgrades ? Mode::shared : hold->mode(); }
  bool valid(base::Time now) const { return now < until; }
};

/// What can exclude: a holder, or one that failed and still keeps others out.
struct Claimed {
  Mode mode;
  const std::vector<std::uint32_t>& slots;
};
bool exclude(Kind kind, const Claimed& one, const Claimed& other);

/// The holders of one lock so far, and what that means for the next one. A complaint says what was promised and not kept:
///   - the token is larger than that of every earlier holder that excludes this one, and a downgrade keeps it;
///   - permits are as many as were asked for, and of those that there are;
///   - the lock stays shut for those whom a failed holder excludes: for its lock-delay, and while its lease stands;
///   - the fence admits whoever still holds the lock, and nobody who was overtaken: after whom one that excludes it has
///     both been granted the lock and been at the fence.
class Ledger {
 public:
  /// `follows`: the store may come back as another one.
  Ledger(const PlayedLock& lock, bool follows)
      : lock_(lock), fence_(lock.kind, lock.name, {.follow_new_store = follows}) {}

  Complaint granted(const Held& held, const lock::Wanted& wanted, base::Time now);
  /// It was not let go: it is over at `until`, or has been since then.
  void failed(const Held& held);
  /// `trusted`: what is true for its user must be true for all.
  Complaint write(Held& held, bool trusted, base::Time now);
  /// The fence must refuse it: its holder has become a reader, and has been at the fence as one.
  Complaint write_after_downgrade(const Sequencer& before);
  /// The store does not know any more who failed.
  void forget() { ghosts_.clear(); }
  /// That claim was taken away: its lock-delay is over.
  void forget(Token claim) {
    std::erase_if(ghosts_, [&](const Ghost& ghost) { return ghost.claim == claim.with_sub(0); });
  }

 private:
  struct Ghost {
    base::Time until;
    Mode mode;
    std::vector<std::uint32_t> slots;
    Token claim;
  };
  /// Of holders of one sort: the newest, and the newest that has been at the fence.
  struct Newest {
    Token token = {};
    std::uint64_t writer = 0;
  };
  Complaint check_permits(const Held& held, const lock::Wanted& wanted) const;
  Complaint check_token(const Held& held) const;
  Complaint check_ghosts(const Held& held, base::Time now);
  Complaint write(Held& held, std::size_t permit, bool trusted, base::Time now);
  Newest& newest(Mode mode, std::optional<std::uint32_t> slot);
  std::uint64_t overtaken_by(Mode mode, std::optional<std::uint32_t> slot);

  const PlayedLock& lock_;
  Newest exclusive_;
  Newest shared_;
  std::map<std::uint32_t, Newest> slots_;
  std::vector<Ghost> ghosts_;
  Fence fence_;
};

}  // namespace pawl::test
