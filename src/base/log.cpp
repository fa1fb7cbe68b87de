#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace pawl::base {

namespace {

// Without a mutex, which a child of fork() might find locked for ever. A sink that was replaced is never freed: somebody
// may be calling it, and the last words may come from the destructor of a static.
std::atomic<const LogSink*> current = nullptr;

void write_to_stderr(Level level, std::string_view text) {
  std::string line = level == Level::error ? "pawl: error: " : "pawl: warning: ";
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  line += '\n';
  // One write, so that the lines of two threads or processes do not mix. Nobody could be told if it failed.
  while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace

void log(Level level, std::string_view text) noexcept {
  const int saved = errno;
  try {
    const LogSink* sink = current;
    if (sink != nullptr && *sink) {
      (*sink)(level, text);
    } else {
      write_to_stderr(level, text);
    }
  } catch (...) {
    // There is no further way out.
  }
  errno = saved;
}

LogSink replace_log_sink(LogSink sink) {
  static std::mutex mutex;
  static auto& all = *new std::deque<LogSink>;
  const std::lock_guard guard(mutex);
  const LogSink* before = current.exchange(&all.emplace_back(std::move(sink)));
  return before == nullptr ? LogSink{} : *before;
}

}  // namespace pawl::base
