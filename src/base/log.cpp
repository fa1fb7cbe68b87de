#include "base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace pawl::base {

namespace {

struct Shared {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;  // guarded by mutex
};

// Never destroyed: the last words may come from the destructor of a static.
Shared& shared() {
  static Shared& it = *new Shared;
  return it;
}

std::shared_ptr<const LogSink> current_sink() {
  const std::lock_guard guard(shared().mutex);
  return shared().sink;
}

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
    // Called without the mutex: a sink may log, or replace itself.
    const auto sink = current_sink();
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
  auto next = std::make_shared<const LogSink>(std::move(sink));
  const std::lock_guard guard(shared().mutex);
  shared().sink.swap(next);
  return next == nullptr ? LogSink{} : *next;
}

}  // namespace pawl::base
