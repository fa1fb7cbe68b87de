#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace pawl::base {

enum class Level : std::uint8_t { warning, error };

/// For bugs that have no other way out: an exception in a destructor, a callback that throws. Whatever a caller or an
/// observer can be told goes there instead. One line on stderr: "pawl: error: ...".
/// Promise: never throws, and a line is written whole.
/// Threads: safe to call from any.
void log(Level level, std::string_view text) noexcept;

using LogSink = std::function<void(Level, std::string_view)>;

/// Sends the lines elsewhere and gives back what was there before; an empty sink means stderr.
/// Threads: the sink is called by several at once, and may be called once more just after it was replaced.
LogSink replace_log_sink(LogSink sink);

}  // namespace pawl::base
