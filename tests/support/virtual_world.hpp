#pragma once

#include "base/simulated_runtime.hpp"
#include "store/memory/memory_store.hpp"
#include "tests/support/world.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace pawl::scene {

/// The memory store on virtual time, one thread. Every client is a process of its own, and so is the network.
class VirtualWorld final : public World {
 public:
  explicit VirtualWorld(std::string scheme, std::uint64_t seed = 1);
  ~VirtualWorld() override;

  using World::eventually;
  Time now() const override { return world_.now(); }
  void sleep(Duration duration) override { world_.run_for(duration); }
  bool eventually(const std::function<bool()>& so, Duration within) override;
  bool virtual_time() const override { return true; }
  Duration lease() const override { return 30s; }
  Duration timeout() const override { return 5s; }
  Duration hang() const override { return 1h; }
  std::string leftovers() override;

 private:
  Runtime& new_home() override { return world_.add_process(); }
  Runtime& network_of(Runtime&) override { return network_; }
  std::shared_ptr<store::Store> open_store(Runtime& home) override;

  base::SimWorld world_;
  base::SimProcess& network_;
  const std::shared_ptr<store::memory::MemoryState> state_;
};

}  // namespace pawl::scene
