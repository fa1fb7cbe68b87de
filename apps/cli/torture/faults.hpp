#pragma once

#include "apps/cli/torture/chance.hpp"
#include "apps/cli/torture/scene.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pawl::torture {

/// Something that goes wrong now and then.
struct Fault {
  /// What comes next; the last one ends the fault.
  struct Step {
    std::function<void()> act = {};
    Milliseconds after{};  ///< since the one before it; none: a while
  };
  using Steps = std::vector<Step>;

  std::string name = {};
  std::string group = {};  ///< of one group, one at a time; empty: as many as come
  /// Begins it, and tells how it goes on: with nothing, if there is nothing to be ended.
  std::function<Steps(Chance& chance)> begin = {};
};

/// How long a fault lasts: as a rule shorter than the lease, now and then much longer.
Milliseconds some_length(Chance& chance, Milliseconds lease);

/// Begins and ends faults at times that follow from a seed. In each round each of them comes once, in another order.
class Faults {
 public:
  /// `pace`: the longest time from one to the next.
  Faults(std::vector<Fault> faults, std::uint64_t seed, Milliseconds lease, Milliseconds pace);

  /// Begins and ends what is due. To be called often.
  void tick();
  void end_all();
  /// Each sort has been there.
  bool all_seen() const;
  const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  struct Running {
    std::string group = {};
    Fault::Steps steps = {};
    Nanoseconds next = 0;
  };
  void begin_one();
  const Fault& draw();
  Nanoseconds time_of(const Fault::Step& step);
  bool busy(const std::string& group) const;

  const std::vector<Fault> faults_;
  const Milliseconds lease_, pace_;
  Chance chance_;
  std::vector<std::size_t> round_ = {};  ///< those that are still to come in this round
  std::vector<Running> running_ = {};
  std::map<std::string, std::size_t> counts_ = {};
  Nanoseconds next_ = 0;
};

}  // namespace pawl::torture
