#pragma once

#include "apps/cli/run/under_lock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Which locks `pawl run` and `pawl hold` take: NAME, of one kind or another, and those of --also.
namespace pawl::cli {

struct Permits {
  std::uint32_t wanted = 0;
  std::uint32_t of = 0;
};

struct LockChoice {
  bool read = false;
  bool write = false;
  std::optional<Permits> permits = {};
  std::vector<std::string> also = {};
};

/// --read, --write, --permits, --also.
void add_lock_choice(CLI::App& command, LockChoice& choice);

/// `choice` must live as long. Throws Failure.
Errand errand_for(const LockChoice& choice, const std::string& name);

}  // namespace pawl::cli
