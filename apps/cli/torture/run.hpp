#pragma once

#include "apps/cli/torture/crew.hpp"
#include "apps/cli/torture/faults.hpp"
#include "apps/cli/torture/judge.hpp"

#include <pawl/client.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pawl::torture {

struct Plan {
  std::string title = {};  ///< "redis/queue"
  Crew::Setting crew = {};
  std::string url = {};  ///< the store without anything in between, for the look at what is left
  std::uint64_t seed = 0;
  Milliseconds time{120'000};
  std::vector<Fault> faults = {};  ///< besides those of the workers
  /// What the server still has of the run, besides what client.list() says. Asked until there is nothing.
  std::function<std::vector<std::string>()> leftovers = {};
};

struct Outcome {
  History history = {};
  std::map<std::string, std::size_t> faults = {};
  std::vector<Complaint> complaints = {};
};

/// Plays a run to its end, and judges it. The folder must exist.
Outcome play(const Plan& plan);

/// What a run has left in the store; it may take a while until the last session of the dead has ended. An oracle of its own:
/// "left".
std::vector<Complaint> look_for_leftovers(const Plan& plan, Milliseconds patience = Milliseconds(120'000));

/// In plain words, for people; the last line is the verdict.
std::string report(const Plan& plan, const Outcome& outcome);

/// Which of these kinds the store and scheme have: those that can be locked now. Throws pawl::Exception.
std::vector<Kind> kinds_of(Client& client, const std::string& run);

}  // namespace pawl::torture
