#pragma once

#include "tests/simulation/ledger.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/simulation/reigns.hpp"
#include "tests/simulation/simulation.hpp"

#include <pawl/multi_lock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {

/// Watches a simulated world and says what was promised and not kept. Looks after every step:
///   - no two holds that exclude each other have remaining() > 0 at the same time, whoever is paused or cut off;
///   - the store knows whoever has remaining() > 0, by its token, its mode and its value;
///   - the store's queue, where it is fair, is first come, first served: nobody holds who came after one that waits;
///   - so are the users of one client who want a mutex that is passed on among them;
///   - a hold whose time is over is told so soon, unless its process does not run;
///   - several locks together are valid only while each of them is, and lost as soon as one of them is;
///   - and with every grant and every write, what Ledger says; with every word to an observer, what Testimony says.
class Monitor {
 public:
  Monitor(base::SimWorld& world, std::shared_ptr<PlayedStore> store) : world_(world), store_(std::move(store)) {}

  /// A user asks for one lock, when its client had so many losses...
  void asks(const base::SimProcess& process, const PlayedLock& lock, const std::string& who, std::uint64_t losses);
  /// ... and has an answer. A hold that was lost before its user knew of it is asked for again, behind all others.
  void answered(const base::SimProcess& process, const PlayedLock& lock, const std::string& who, bool granted,
                std::uint64_t losses);
  /// A user has got it. The hold must stay where it is until ended().
  void granted(const base::SimProcess& process, const Wish& wish, const Hold& hold);
  /// Several together.
  void granted(const base::SimProcess& process, const Wish& wish, const MultiHold& holds);
  /// The user goes through the resource's fence with it.
  void writes(const Hold& hold);
  /// The user asks for a downgrade: from now on it is content with a shared hold...
  void downgrades(const Hold& hold);
  /// ... and has got an answer.
  void downgraded(const Hold& hold, const Result<void>& answer);
  /// The user is about to let go of it.
  void ended(const Hold& hold);
  void ended(const MultiHold& holds);
  /// The user was refused, and all that it had has been undone: the store must know no claim of that label. Only of locks
  /// that are not passed on inside a client, where a claim may go by the name of whoever had it before.
  void gave_up(const Wish& wish, const std::string& label);
  /// An observer has got an answer.
  void told(const PlayedLock& lock, Testimony& testimony, const std::optional<Leader>& change);
  /// Nobody leads any more, and an observer has had the time to hear of it.
  void observed(const PlayedLock& lock, const Testimony& testimony);
  /// The store has broken its own word to that process: until then its holds may be wrong, and cannot know it.
  void excuse(const base::SimProcess& process, base::Time until);
  /// The store has lost them.
  void forget_lock_delays();
  /// That process will never run again.
  void crashed(const base::SimProcess& process);

  void look();
  void note(std::string line);
  void violated(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }
  const std::deque<std::string>& story() const { return story_; }
  const Deeds& deeds() const { return deeds_; }

 private:
  bool excused(const base::SimProcess& process) const;
  /// What is true for its user must be true for all.
  bool trusted(const Held& held) const { return !excused(*held.process); }
  void granted(const base::SimProcess& process, const Wish& wish, std::size_t part, const Hold& hold);
  Held& find(const Hold& hold);
  Ledger& ledger(const PlayedLock& lock);
  void complain(Ledger::Complaint complaint);
  void see(Held& held);

  void check_exclusion();
  void check_loss_is_told();
  void check_together();
  void check_store();
  void check_order(const LockView& view);
  void see_leaders(const LockView& view);
  void check_known(const Held& held, const std::vector<LockView>& views);

  /// A user that waits.
  struct Asking {
    const base::SimProcess* process;
    const PlayedLock* lock;
    std::string who;
    std::uint64_t losses;  ///< of its client, then
  };

  base::SimWorld& world_;
  const std::shared_ptr<PlayedStore> store_;
  std::vector<Held> held_;
  std::vector<Asking> asking_;  // in the order in which they asked
  std::vector<std::pair<const base::SimProcess*, const MultiHold*>> together_;
  std::map<const PlayedLock*, Ledger> ledgers_;
  std::map<std::string, Reigns> reigns_;  // by the name of the election
  std::map<const base::SimProcess*, base::Time> excused_;
  std::map<std::string, std::uint64_t> arrivals_;  // of claims, by id
  std::uint64_t requests_seen_ = 0;
  Deeds deeds_;
  std::optional<std::string> violation_;
  std::deque<std::string> story_;
};

}  // namespace pawl::test
