#pragma once

#include <pawl/sequencer.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// The environment of the command: ours, with PAWL_LOCK, PAWL_TOKEN and PAWL_SEQUENCER of the first grant,
/// PAWL_SEQUENCERS of all of them, PAWL_VALUE of a candidate, and without a password in PAWL_STORE. What the kernel
/// would not take is left out, and told on stderr.
std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value);

/// A store's URL without the password in it, so that whoever needs one is refused and not sent to another store.
std::string without_password(std::string_view url);

}  // namespace pawl::cli
