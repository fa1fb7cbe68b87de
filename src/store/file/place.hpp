#pragma once

#include <pawl/result.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::store::file {

/// Where and when this process runs: what must be equal for the records of one process to mean the same to another.
struct Place {
  std::array<char, 40> boot = {};    ///< the kernel's boot id: our times count from there
  std::uint64_t pid_namespace = 0;   ///< in which a pid means a process
  std::uint64_t time_namespace = 0;  ///< may shift the boot clock

  /// Errors: unsupported without /proc.
  static Result<Place> here();

  friend bool operator==(const Place&, const Place&) = default;
};

/// What the file store's gate says of the folder's lock database.
struct Found {
  std::uint32_t layout = 0;
  std::uint32_t machine = 0;  ///< sizes that the shared memory depends on
  bool finished = false;      ///< false: whoever made it died half-way
  Place place = {};
};

inline constexpr std::uint32_t current_layout = 3;
/// Changes with the word size and the C library's mutex.
extern const std::uint32_t this_machine;

/// What to do with it.
enum class Verdict : std::uint8_t {
  join,       ///< others use it: use it, too
  take_over,  ///< nobody uses it: its records hold, and those who made them are dead
  rebuild,    ///< nobody uses it and its records mean nothing any more
};

/// Somebody who uses the folder.
struct Somebody {
  pid_t pid = 0;  ///< 0: not to be seen from our pid namespace
};

/// | found                       | nobody uses it | somebody does |
/// |-----------------------------|----------------|---------------|
/// | nothing, or half-made       | rebuild        | refused       |
/// | a newer layout              | refused        | refused       |
/// | an older layout or machine  | rebuild        | refused       |
/// | another boot or time        | rebuild        | refused       |
/// | another pid namespace       | take over      | refused       |
/// | all ours                    | take over      | join          |
/// Errors: unsupported, store_unavailable; a sentence without the folder's name.
Result<Verdict> judge(const std::optional<Found>& found, const Place& here, const std::optional<Somebody>& user);

}  // namespace pawl::store::file
