// Four processes count in one file. The lock lets one of them at a time read, add and write; the fence stops one that
// was paused for so long that another has taken its place.
#include <pawl/pawl.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr int processes = 4, rounds = 25;

pawl::Result<void> add_one(pawl::Mutex& mutex, pawl::Fence& fence, const fs::path& file) {
  auto hold = mutex.acquire({.wait = 30s, .label = "counting"});
  if (!hold) return hold.error();
  auto marked = fence.mark(hold->sequencer());  // before the first read: from now on no earlier holder can write
  if (!marked) return marked;
  int count = 0;
  std::ifstream(file) >> count;
  return fence.admit(hold->sequencer(), [&] { std::ofstream(file) << count + 1 << '\n'; });
}

/// What each of the processes does.
int count(const fs::path& folder) {
  auto client = pawl::Client::open("file://" + (folder / "locks").string()).value();
  pawl::Mutex mutex = client.mutex("counter");
  pawl::Fence fence = pawl::Fence::open(folder / "counter.fence", pawl::Kind::mutex, "counter").value();
  for (int i = 0; i < rounds; ++i) {
    if (auto added = add_one(mutex, fence, folder / "counter"); !added) {
      std::fprintf(stderr, "%s\n", added.error().to_string().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "pawl-example-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;

  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) std::exit(count(folder));
    children.push_back(child);
  }
  bool fine = true;
  for (const pid_t child : children) {
    int status = 0;
    fine = ::waitpid(child, &status, 0) == child && status == 0 && fine;
  }

  int total = 0;
  std::ifstream(fs::path(folder) / "counter") >> total;
  std::printf("%d processes, %d rounds each: counted to %d\n", processes, rounds, total);
  fs::remove_all(folder);
  return fine && total == processes * rounds ? 0 : 1;
}
