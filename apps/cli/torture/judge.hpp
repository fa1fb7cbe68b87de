#pragma once

#include "apps/cli/torture/history.hpp"

#include <string>
#include <vector>

namespace pawl::torture {

/// A promise that was broken, and by whom.
struct Complaint {
  std::string oracle = {};
  std::string sentence = {};
};

/// What a run was to end with.
struct Expected {
  std::vector<std::string> locks = {};
  std::vector<std::string> workers = {};  ///< that lived when the faults ended
  /// The store has lost its data on the way. Then two may believe for a while, and tokens and fences have to make up for it.
  bool forgets = false;
};

/// Looks at a whole history. Nothing else goes in, so what it finds can be found again.
///
/// | oracle      | complains when                                                                                    |
/// |-------------|---------------------------------------------------------------------------------------------------|
/// | overlap     | two beliefs that exclude each other were held at one moment                                       |
/// | order       | of two grants that exclude each other, the later one has no larger token                          |
/// | overtaken   | a write was admitted after one, or after a mark, with a larger token                              |
/// | update      | a write was made by a holder that had read another value than the one it replaced                 |
/// | written     | a write that was confirmed is missing, or one that was refused is there                           |
/// | resurrected | valid() was true again after it had been false                                                    |
/// | again       | a worker that lived did not get every lock once more after the faults, or did not end             |
/// | error       | a call ended with an error that no fault explains                                                 |
/// | log         | a line cannot be read                                                                             |
std::vector<Complaint> judge(const History& history, const Expected& expected);

}  // namespace pawl::torture
