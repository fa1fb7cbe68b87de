#pragma once

#include "base/runtime.hpp"
#include "store/store.hpp"
#include "tests/support/faults.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace pawl::test {

/// The network between a client and any store, as a plan wants it: wraps the port, so the same faults work on the memory
/// store in virtual time and on a real server.
/// Promise: whatever was sent reaches the store or is lost as the plan says, also when the caller has given up, has gone,
///          or is paused; the store underneath is kept alive for it.
/// Limit:   one store per client, as with any connection.
class FaultyStore final : public store::Store {
 public:
  /// `network` carries what is under way; with a simulated client it should be a process of its own that is never
  /// paused and does not crash: packets are not. With a real store it must be the client's runtime.
  FaultyStore(std::shared_ptr<store::Store> inner, base::Runtime& client, std::shared_ptr<FaultPlan> plan,
              base::Runtime& network);
  FaultyStore(std::shared_ptr<store::Store> inner, base::Runtime& client, std::shared_ptr<FaultPlan> plan)
      : FaultyStore(std::move(inner), client, std::move(plan), client) {}
  ~FaultyStore() override;

  void attach(store::Surroundings surroundings) override;
  base::awaitable<Result<void>> connect(base::Deadline deadline) override;
  std::uint64_t id() const override;
  base::awaitable<Result<store::SessionGrant>> open_session(store::SessionRequest request,
                                                            base::Deadline deadline) override;
  base::awaitable<Result<store::Renewal>> renew(store::SessionId session, base::Deadline deadline) override;
  base::awaitable<Result<void>> close_session(store::SessionId session, base::Deadline deadline) override;
  base::awaitable<Result<std::uint64_t>> epoch(base::Deadline deadline) override;
  base::awaitable<Result<std::uint64_t>> raise_epoch(base::Deadline deadline) override;
  store::Scheme* scheme(std::string_view name) override;
  std::vector<const store::Capabilities*> schemes() const override;

  /// Opened through this connection and not known to have ended; those whose reply was lost are among them.
  std::vector<store::SessionId> sessions() const;
  /// Ends them at the store, behind the client's back and past all faults.
  base::awaitable<void> expire_sessions();
  /// Tells the client that the store may have forgotten its sessions, as a connection does that was lost and is back.
  void doubt_sessions() const;

 private:
  class Wire;
  class FaultyScheme;

  const std::shared_ptr<Wire> wire_;
  std::function<void()> sessions_in_doubt_;
  std::vector<std::unique_ptr<FaultyScheme>> schemes_;
};

}  // namespace pawl::test
