#include "apps/cli/run/letting_go.hpp"

#include "apps/cli/context.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace pawl::cli {

int let_go(Held& held, const HoldEnd& end, RunLog& log) {
  const Result<void> released = held.release();
  if (!end.lost.empty()) {
    log.lost(end.lost, end.code);
    return end.code;
  }
  if (released) {
    log.released(end.code);
    return end.code;
  }
  const std::string& why = released.error().message;
  if (released.code() == Errc::lost) {
    fmt::print(stderr, "pawl: {}\n", held.loss());
    log.lost(held.loss(), lock_lost);
    return lock_lost;
  }
  fmt::print(stderr, "pawl: {} could not be released, it is free when its lease ends: {}\n", held.first_to_end(), why);
  log.release_failed(why, end.code);
  return end.code;
}

}  // namespace pawl::cli
