#pragma once

#include "base/real_runtime.hpp"
#include "tests/support/census.hpp"
#include "tests/support/world.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pawl::scene {

/// What a real world is made of.
struct RealPlace {
  std::string url;
  std::string scheme;
  Duration lease;                      ///< one that a test can afford to wait for
  Duration timeout;                    ///< for one answer of the store, where a test waits for it in vain
  std::shared_ptr<void> keeps = {};    ///< lives as long as the world: a folder, a server
  test::Census census = {};            ///< what the server has; empty: nobody can tell
  std::function<void()> restart = {};  ///< kills the server and starts it again; every store that has one
  /// Claims wait and let go by the blocking form, on threads of their own.
  bool blocking = false;
};

/// A store opened by URL through the registry, on real time and real threads. The clients share a few runtimes: so they
/// run at the same time, and a thousand of them are not two thousand threads.
class RealWorld final : public World {
 public:
  explicit RealWorld(RealPlace place);
  ~RealWorld() override;

  using World::eventually;
  Time now() const override;
  void sleep(Duration duration) override;
  bool eventually(const std::function<bool()>& so, Duration within) override;
  bool virtual_time() const override { return false; }
  Duration lease() const override { return place_.lease; }
  Duration timeout() const override { return place_.timeout; }
  Duration hang() const override { return 240s; }
  bool blocking() const override { return place_.blocking; }
  void restart() override;
  std::string leftovers() override;
  void run_on_a_thread(std::function<void()> work) override;

 private:
  static constexpr std::size_t most_homes = 4;

  Runtime& new_home() override;
  std::shared_ptr<store::Store> open_store(Runtime& home) override;

  const RealPlace place_;
  const std::set<std::string> there_before_;
  std::vector<std::unique_ptr<base::RealRuntime>> homes_;
  const std::shared_ptr<std::atomic<std::size_t>> threads_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::size_t next_home_ = 0;
};

}  // namespace pawl::scene
