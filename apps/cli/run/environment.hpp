#pragma once

#include <pawl/sequencer.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// The environment of the command: ours, with PAWL_LOCK, PAWL_TOKEN and PAWL_SEQUENCER of the first grant,
/// PAWL_SEQUENCERS of all of them, PAWL_VALUE of a candidate, and PAWL_STORE. What the kernel would not take is left out,
/// and told on stderr.
std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value, const std::string& store);

/// The store that the lock is in, for a pawl inside the command: its URL, with that scheme unless it names one. A password
/// is taken out and put into a sealed file in memory, which the command inherits and the URL names: sudo closes it.
std::string store_for_child(std::string url, std::string_view scheme);

}  // namespace pawl::cli
