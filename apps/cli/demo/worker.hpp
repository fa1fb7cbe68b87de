#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace pawl::cli {

inline constexpr auto demo_lease = std::chrono::seconds(1);
inline constexpr const char* demo_lock = "demo/ledger";

/// The files of a demo: the store, the fence and the ledger.
struct DemoFolder {
  std::filesystem::path path;

  std::string store() const { return "file://" + (path / "store").string(); }
  std::filesystem::path fence() const { return path / "fence"; }
  std::filesystem::path ledger() const { return path / "ledger"; }
};

/// What stands between the demo and a worker: lines on its stdin and stdout.
///
/// to the worker:   pause    at the next acquisition: say so, and wait for `go` before writing
///                  go
///                  quit     or the end of the file
/// from the worker: wrote TOKEN WAIT_US AMOUNT
///                  paused TOKEN
///                  refused TOKEN
///                  trouble SENTENCE
int work(const DemoFolder& folder, const std::string& name);

}  // namespace pawl::cli
