#pragma once

#include <pawl/sequencer.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Torture: processes contend for locks while they are stopped and killed, and while their servers and the network fail. Each
/// logs what it believed, and a judge reads the logs afterwards. `pawl torture` does the first half of it against a store of
/// the user; tests/torture starts the servers, and makes them fail.
namespace pawl::torture {

using Milliseconds = std::chrono::milliseconds;
/// CLOCK_BOOTTIME: one clock for all processes of the host.
using Nanoseconds = std::int64_t;

Nanoseconds now();

/// What is contended for.
struct LockSpec {
  std::string name = {};
  Kind kind = Kind::mutex;
  std::uint32_t permits = 0;
};

/// A worker that breaks the rules on purpose: the judge must notice.
enum class Flaw : std::uint8_t {
  none,
  ignores_valid,  ///< believes in its hold until it lets go
  ignores_fence,  ///< writes past the fence
};

/// The files that the processes of one run share.
struct Folder {
  std::filesystem::path path;

  void make() const;
  std::filesystem::path events(const std::string& worker) const { return path / "events" / worker; }
  std::filesystem::path fence(const std::string& resource) const { return path / "fences" / resource; }
  std::filesystem::path resource(const std::string& resource) const { return path / "resources" / resource; }
  /// It exists when no fault is to come any more.
  std::filesystem::path calm() const { return path / "calm"; }
};

/// What a worker is told on its command line. The URL of the store is in its environment, because it may have a password.
struct Orders {
  Folder folder = {};
  std::string worker = {};
  std::uint64_t seed = 0;
  std::string run = {};  ///< part of the names of all locks
  std::vector<Kind> kinds = {Kind::mutex};
  Milliseconds lease{2000};
  std::string scheme = {};
  Flaw flaw = Flaw::none;
  bool forgets = false;  ///< the store loses its data now and then: fences follow it

  std::vector<std::string> words() const;
  static Orders parse(const std::vector<std::string>& words);
  std::vector<LockSpec> locks() const;
};

}  // namespace pawl::torture
