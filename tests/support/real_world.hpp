#pragma once

#include "base/real_runtime.hpp"
#include "tests/support/world.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::scene {

/// What a real world is made of.
struct RealPlace {
  std::string url;
  std::string scheme;
  Duration lease;                    ///< one that a test can afford to wait for
  Duration timeout;                  ///< for one answer of the store
  std::shared_ptr<void> keeps = {};  ///< lives as long as the world: a folder, a server
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

 private:
  static constexpr std::size_t most_homes = 4;

  Runtime& new_home() override;
  std::shared_ptr<store::Store> open_store(Runtime& home) override;

  const RealPlace place_;
  std::vector<std::unique_ptr<base::RealRuntime>> homes_;
  std::size_t next_home_ = 0;
};

}  // namespace pawl::scene
