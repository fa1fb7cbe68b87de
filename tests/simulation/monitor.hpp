#pragma once

#include "base/simulated_runtime.hpp"
#include "store/memory/memory_state.hpp"

#include <pawl/hold.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {

/// Watches a simulated world and says what was promised and not kept. Looks after every step:
///   - no two holds of one lock have remaining() > 0 at the same time, whoever is paused or cut off;
///   - every new hold has a larger token than the one before;
///   - the store's queue is first come, first served;
///   - a hold whose time is over is told so soon, unless its process does not run.
class Monitor {
 public:
  Monitor(base::SimWorld& world, std::shared_ptr<store::memory::MemoryState> state, base::Runtime& reader)
      : world_(world), state_(std::move(state)), reader_(reader) {}

  /// A user has got it. The hold must stay where it is until ended().
  void granted(const base::SimProcess& process, const std::string& lock, const Hold& hold);
  void ended(const Hold& hold);
  /// The store has broken its own word to that process: until then its holds may be wrong, and cannot know it.
  void excuse(const base::SimProcess& process, base::Time until);
  /// That process will never run again.
  void crashed(const base::SimProcess& process);

  void look();
  void note(std::string line);
  void violated(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }
  const std::deque<std::string>& story() const { return story_; }
  std::uint64_t grants() const { return grants_; }

 private:
  struct Held {
    const base::SimProcess* process;
    std::string lock;
    const Hold* hold;
    std::optional<base::Time> over_since = {};
  };
  bool excused(const base::SimProcess& process) const;
  void check_exclusion();
  void check_loss_is_told();
  void check_order();
  void check_order(const LockView& view);

  base::SimWorld& world_;
  const std::shared_ptr<store::memory::MemoryState> state_;
  base::Runtime& reader_;
  std::vector<Held> held_;
  std::map<const base::SimProcess*, base::Time> excused_;
  std::map<std::string, Token> newest_;
  std::map<std::string, std::uint64_t> arrivals_;  // of claims, by id
  std::uint64_t requests_seen_ = 0;
  std::uint64_t grants_ = 0;
  std::optional<std::string> violation_;
  std::deque<std::string> story_;
};

}  // namespace pawl::test
