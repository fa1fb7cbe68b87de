#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/memory/memory_state.hpp"
#include "store/memory/queue.hpp"
#include "store/store.hpp"

#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace pawl::store::memory {

/// A client's connection to a MemoryState. Every call completes at once and none fails for want of a server.
/// Threads: like every Store, one runtime at a time; several stores may share one state from several threads.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemoryState> state, base::Runtime& runtime);

  awaitable<Result<void>> connect(Deadline deadline) override;
  std::uint64_t id() const override { return state_->id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override;
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override;
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override;
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override;
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override;
  /// Ends the sessions that were opened here, as if their leases had run out.
  void expire_sessions();
  Scheme* scheme(std::string_view name) override;
  std::vector<const Capabilities*> schemes() const override { return {&Queue::declared}; }

 private:
  const std::shared_ptr<MemoryState> state_;
  base::Runtime& runtime_;
  Queue queue_;
  std::set<SessionId> opened_;
};

/// A state of its own, on the clock of whoever uses it.
std::shared_ptr<MemoryState> private_state(base::Runtime& runtime);
/// The state that everybody in this process means by that name. It lives while a store of it does.
std::shared_ptr<MemoryState> shared_state(std::string_view name, base::Runtime& runtime);

/// `memory:NAME` is shared within the process, `memory:` is private. No options of its own.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::memory
