#pragma once

#include "apps/cli/torture/judge.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace pawl::torture {

/// The operations of a history as tests/torture/porcupine reads them: a line each. Of a fence with more than so many
/// operations, the first ones: what was under way then counts as never answered.
void write_operations(const History& history, std::ostream& out, std::size_t most = 20'000);

/// Lets the program look at the history, and says what it found; a complaint is added if that is bad. Without a program it is
/// skipped, and that is said.
std::string ask_porcupine(const std::string& program, const History& history, const std::string& folder,
                          std::vector<Complaint>& complaints);

}  // namespace pawl::torture
