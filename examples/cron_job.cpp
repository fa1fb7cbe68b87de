// A job that cron starts every minute: one run at a time, skipped while the last one is still at work, stopped when the
// lock is lost. (For a command that exists already: `pawl run --no-wait backup -- ./backup.sh`.)
#include <pawl/pawl.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

enum class Outcome { done, skipped, stopped, failed };

using Work = std::function<void(std::stop_token lost, const pawl::Sequencer& sequencer)>;

/// One run. Every run opens the store for itself, as a process of its own would.
Outcome run(const std::string& store, const Work& work) {
  auto client = pawl::Client::open(store);
  if (!client) return Outcome::failed;

  // A run that hangs is over after an hour: its lock is lost, and the next run begins.
  auto hold = client->mutex("backup").try_acquire({.max_hold = 1h, .label = "nightly backup"});
  if (hold.code() == pawl::Errc::busy) {
    if (auto view = client->inspect("backup"); view && !view->holders.empty()) {
      const pawl::Owner& owner = view->holders.front().owner;
      std::printf("skipped: \"%s\", pid %ld, is still at work\n", owner.label.c_str(), static_cast<long>(owner.pid));
    }
    return Outcome::skipped;
  }
  if (!hold) {
    std::fprintf(stderr, "%s\n", hold.error().to_string().c_str());
    return Outcome::failed;
  }
  work(hold->lost(), hold->sequencer());
  return hold->release() ? Outcome::done : Outcome::stopped;  // `lost` is told here at the latest
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "pawl-example-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string store = "file://" + folder;

  const Work backup = [](std::stop_token lost, const pawl::Sequencer& sequencer) {
    for (int part = 1; part <= 3 && !lost.stop_requested(); ++part) {
      std::printf("part %d, for %s\n", part, sequencer.to_string().c_str());
    }
  };
  // It takes so long that cron starts the next run meanwhile.
  Outcome next{};
  const Work long_backup = [&](std::stop_token lost, const pawl::Sequencer& sequencer) {
    next = run(store, backup);
    backup(lost, sequencer);
  };
  const Outcome first = run(store, long_backup);
  const Outcome last = run(store, backup);

  fs::remove_all(folder);
  return first == Outcome::done && next == Outcome::skipped && last == Outcome::done ? 0 : 1;
}
