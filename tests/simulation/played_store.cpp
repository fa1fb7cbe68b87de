#include "tests/simulation/played_store.hpp"

#include "store/memory/memory_store.hpp"
#include "tests/simulation/lying_store.hpp"

#include <utility>

namespace pawl::test {

namespace {

using store::memory::MemoryState;

class PlayedMemory final : public PlayedStore {
 public:
  PlayedMemory(base::SimWorld& world, base::SimProcess& server)
      : server_(server),
        state_(std::make_shared<MemoryState>([&world] { return world.now(); }, [&server] { return server.random(); },
                                             server.unix_milliseconds())) {}

  const store::Capabilities& capabilities() const override { return store::memory::Queue::declared; }
  std::shared_ptr<FaultyStore> connect(base::SimProcess& client, std::shared_ptr<FaultPlan> faults) override {
    auto connection = make_lying_store(std::make_shared<store::memory::MemoryStore>(state_, server_));
    return std::make_shared<FaultyStore>(std::move(connection), client, std::move(faults), server_);
  }
  std::vector<LockView> locks() override {
    MemoryState::Visit visit(*state_, server_);
    return visit.queue().list({}, visit.now());
  }
  Kept kept() override {
    const store::memory::Census census = state_->census();
    return {.sessions = census.sessions, .claims = census.claims, .keys = census.keys};
  }
  std::uint64_t requests() override { return state_->requests(); }
  void forget(store::SessionId session) override {
    MemoryState::Visit visit(*state_, server_);
    visit.close_session(session);
  }
  bool may_lose_all() const override { return true; }
  bool many() const override { return true; }
  std::optional<std::uint64_t> forget_everything() override {
    // Later than any epoch that was raised by hand.
    const std::uint64_t epoch = server_.unix_milliseconds() + ++lives_ * 1'000'000'000;
    state_->forget([this] { return server_.random(); }, epoch);
    return epoch;
  }

 private:
  base::SimProcess& server_;
  const std::shared_ptr<MemoryState> state_;
  std::uint64_t lives_ = 0;
};

}  // namespace

std::shared_ptr<PlayedStore> play_memory(base::SimWorld& world, base::SimProcess& server) {
  return std::make_shared<PlayedMemory>(world, server);
}

}  // namespace pawl::test
