#pragma once

#include "tests/simulation/ledger.hpp"
#include "tests/simulation/passing.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/simulation/recalls.hpp"
#include "tests/simulation/reigns.hpp"
#include "tests/simulation/simulation.hpp"

#include <pawl/multi_lock.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {

/// Watches a simulated world and says what was promised and not kept. Looks after every step:
///   - no two holds that exclude each other have remaining() > 0 at the same time, whoever is paused or cut off;
///   - the store knows whoever has remaining() > 0, by its token, its mode and its value;
///   - the store's queue, where it is fair, is first come, first served: nobody holds who came after one that waits;
///   - so are the users of one client who want a mutex that is passed on among them;
///   - a hold whose time is over is told so soon, unless its process does not run, and is over for good;
///   - after a new epoch was begun by hand, nothing is granted in an older one;
///   - several locks together are valid only while each of them is, and lost as soon as one of them is;
///   - a client that was closed holds nothing and is granted nothing;
///   - and what Ledger, Passing, Recalls and, with every word to an observer, Testimony say.
class Monitor {
 public:
  using Stores = std::vector<std::shared_ptr<PlayedStore>>;
  Monitor(base::SimWorld& world, Stores stores, bool tells)
      : world_(world), stores_(std::move(stores)), tells_(tells), seen_(stores_.size()) {}

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
  /// The same with what it had before its downgrade. It is a reader now, if it has been at the fence as one.
  void writes_after_downgrade(const Hold& hold, const Sequencer& before);
  /// The user asks for a downgrade: from now on it is content with a shared hold...
  void downgrades(const Hold& hold);
  /// ... and has got an answer.
  void downgraded(const Hold& hold, const Result<void>& answer);
  /// What is true for its user must be true for all: it is valid, and nothing excuses that another one may be as well.
  bool stands(const Hold& hold);
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
  /// A notice has told that client that others wait behind its claim.
  void contended(const base::SimProcess& process, std::size_t store, Token claim);

  /// From then on nothing excuses that a client is refused, or is not told.
  void fair_from(base::Time when) { fair_from_ = when; }
  bool fair() const { return fair_from_ && world_.now() > *fair_from_; }
  /// The store has broken its own word to that process: until then its holds may be wrong, and cannot know it.
  void excuse(const base::SimProcess& process, std::size_t store, base::Time until);
  /// The operator has asked for that claim's lock, or taken it away.
  void recalled(const PlayedLock& lock, Token claim, bool taken_away);
  bool any_taken_away(const PlayedLock& lock) const { return recalls_.any_taken_away(lock); }
  /// A new epoch was begun by hand.
  void raised(std::size_t store, std::uint64_t epoch);
  /// The store has lost everything. `known_by`: when every client has found out, if it is told at once.
  void forgotten(std::size_t store, std::uint64_t epoch, std::optional<base::Time> known_by);
  void resumed(const base::SimProcess& process) { resumed_[&process] = world_.now(); }
  /// That process will never run again.
  void crashed(const base::SimProcess& process);
  /// A client begins to close: it is granted nothing any more...
  void closing(const base::SimProcess& process, std::size_t link) { closed_.emplace(&process, link); }
  /// ... and when all of that process are closed, nothing is held there.
  void closed(const base::SimProcess& process);

  void look();
  /// A line of the story, where one is told.
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    if (tells_) tell(fmt::format(format, std::forward<Args>(args)...));
  }
  bool tells() const { return tells_; }
  void violated(Oracle oracle, std::string text) { complain(Violation{oracle, std::move(text)}); }
  void complain(Complaint complaint);
  const Complaint& violation() const { return violation_; }
  const std::deque<std::string>& story() const { return story_; }
  const Deeds& deeds() const { return deeds_; }
  Deeds& deeds() { return deeds_; }

 private:
  bool excused(const base::SimProcess& process, std::size_t store) const;
  bool trusted(const Held& held) const;
  void granted(const base::SimProcess& process, const Wish& wish, std::size_t part, const Hold& hold);
  Held& find(const Hold& hold);
  Ledger& ledger(const PlayedLock& lock);
  base::Time resumed_at(const base::SimProcess& process) const;
  void tell(std::string line);
  void see(Held& held);

  void check_exclusion();
  void check_one(Held& held);
  void check_loss_is_told(Held& held);
  void check_together();
  void check_store(std::size_t store);
  void check_order(const LockView& view);
  void check_epochs(std::size_t store, const LockView& view);
  void see_leaders(std::size_t store, const LockView& view);
  void check_known(const Held& held, const std::vector<LockView>& views);

  /// A user that waits.
  struct Asking {
    const base::SimProcess* process;
    const PlayedLock* lock;
    std::string who;
    std::uint64_t losses;  ///< of its client, then
  };
  /// A user of a client who has asked earlier than another one and was not granted the lock before.
  struct Overtaken {
    std::string who, by, title;
    base::Time at;
  };
  /// What was seen of one store.
  struct Seen {
    std::uint64_t requests = 0;
    std::uint64_t epoch = 0;       ///< of all grants from now on, as far as is known
    std::set<Token> holders = {};  ///< the claims that were seen to hold, by token
  };

  base::SimWorld& world_;
  const Stores stores_;
  const bool tells_;
  std::vector<Held> held_;
  std::vector<Asking> asking_;  // in the order in which they asked
  std::optional<Overtaken> overtaken_;
  std::vector<std::pair<const base::SimProcess*, const MultiHold*>> together_;
  std::map<const PlayedLock*, Ledger> ledgers_;
  std::map<std::pair<std::size_t, std::string>, Reigns> reigns_;  // by store and name of the election
  std::map<std::pair<const base::SimProcess*, std::size_t>, base::Time> excused_;
  std::map<const base::SimProcess*, base::Time> resumed_;
  std::set<std::pair<const base::SimProcess*, std::size_t>> closed_;
  std::map<std::string, std::uint64_t> arrivals_;  // of claims, by id
  std::vector<Seen> seen_;
  Passing passing_;
  Recalls recalls_;
  std::optional<base::Time> fair_from_;
  Deeds deeds_;
  Complaint violation_;
  std::deque<std::string> story_;
};

}  // namespace pawl::test
