#include "tests/support/virtual_world.hpp"

#include <fmt/format.h>

#include <utility>

namespace pawl::scene {

using store::memory::Census;
using store::memory::MemoryState;
using store::memory::MemoryStore;

VirtualWorld::VirtualWorld(std::string scheme, std::uint64_t seed)
    : World(std::move(scheme)),
      world_(seed),
      network_(world_.add_process()),
      state_(std::make_shared<MemoryState>([this] { return world_.now(); }, [this] { return world_.random(); }, 1)) {}

VirtualWorld::~VirtualWorld() { forget_clients(); }

bool VirtualWorld::eventually(const std::function<bool()>& so, Duration within) {
  const Time end = base::after(now(), within);
  if (world_.run_until(so, end)) return true;
  if (now() < end) sleep(end - now());  // nothing runs any more, but time itself may make it so
  return so();
}

std::shared_ptr<store::Store> VirtualWorld::open_store(Runtime& home) {
  return std::make_shared<MemoryStore>(state_, home);
}

std::string VirtualWorld::leftovers() {
  const Census kept = state_->census();
  if (kept == Census{}) return {};
  return fmt::format("{} sessions, {} claims, {} tombstones, {} keys, {} watches\n", kept.sessions, kept.claims,
                     kept.tombstones, kept.keys, kept.watches);
}

}  // namespace pawl::scene
