#include "apps/cli/run/talk.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

namespace pawl::cli {

void Talk::say(const std::string& text) {
  const std::lock_guard lock(mutex_);
  wipe();
  fmt::print(stderr, "pawl: {}\n", text);
}

void Talk::show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "\r{}\x1b[K", text);
  shown_ = true;
}

void Talk::clear() {
  const std::lock_guard lock(mutex_);
  wipe();
}

void Talk::wipe() {
  if (std::exchange(shown_, false)) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace pawl::cli
