#pragma once

#include <mutex>
#include <string>

namespace pawl::cli {

/// What is said on stderr while a run waits: lines, and on a terminal one line at the end that is written anew.
/// Threads: all.
class Talk {
 public:
  /// "pawl: ...": a line of its own, above the one that is written anew.
  void say(const std::string& text);
  /// Puts the line that is written anew.
  void show(const std::string& text);
  /// Takes it away.
  void clear();

 private:
  void wipe();

  std::mutex mutex_;  // guards stderr and the next
  bool shown_ = false;
};

}  // namespace pawl::cli
