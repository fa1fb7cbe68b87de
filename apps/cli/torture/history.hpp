#pragma once

#include "apps/cli/torture/resource.hpp"
#include "apps/cli/torture/scene.hpp"

#include <cstddef>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::torture {

/// One attempt to hold a lock. A claim for two permits that was granted is two turns, one for each slot.
struct Turn {
  std::string actor = {};  ///< worker/thread
  std::string lock = {};
  std::string slot = "-";
  Mode mode = Mode::exclusive;
  Nanoseconds asked = 0;
  std::optional<Nanoseconds> granted = {};
  std::string token = {};  ///< its text: the order of the bytes is that of the tokens
  /// The belief: valid() was true at both, and so in between.
  std::optional<Nanoseconds> first_valid = {};
  std::optional<Nanoseconds> last_valid = {};
  std::optional<Nanoseconds> invalid = {};
  bool valid_again = false;   ///< after it was not
  bool again = false;         ///< after the faults
  std::string failed = {};    ///< the error of acquire()
  std::string released = {};  ///< what release() said

  std::string resource() const { return lock + "." + slot; }
  std::string told() const;  ///< for people
};

enum class Operation : std::uint8_t { mark, read, write };

/// An operation of a resource, through its fence.
struct Call {
  std::string actor = {};
  std::string fence = {};  ///< of a semaphore: lock and slot, for each of which the fence keeps a mark
  Operation operation = Operation::mark;
  Mode mode = Mode::exclusive;
  std::string token = {};
  std::string value = {};  ///< what was written, or read
  Nanoseconds called = 0;
  std::optional<Nanoseconds> done = {};  ///< never, if its process was killed
  std::string outcome = {};
};

/// All that the workers of a run have logged, and all that was written.
struct History {
  std::vector<Turn> turns = {};
  std::vector<Call> calls = {};
  std::map<std::string, std::vector<Entry>> resources = {};
  std::map<std::string, std::set<std::string>> again = {};  ///< actor -> the locks that it held after the faults
  std::set<std::string> ended = {};                         ///< workers that came to their end
  std::vector<std::string> unreadable = {};                 ///< lines that mean nothing
};

/// Adds what one worker has logged.
void read_diary(const std::string& worker, std::istream& in, History& history);
History read_history(const Folder& folder);

}  // namespace pawl::torture
