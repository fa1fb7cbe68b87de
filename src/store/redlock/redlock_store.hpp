#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/redlock/majority.hpp"
#include "store/store.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store::redlock {

/// A majority of independent Redis masters.
class RedlockStore final : public Store {
 public:
  RedlockStore(base::Runtime& runtime, Config config);
  ~RedlockStore() override;

  void attach(Surroundings surroundings) override { cluster_->attach(std::move(surroundings)); }
  awaitable<Result<void>> connect(Deadline deadline) override { return cluster_->connect(deadline); }
  std::uint64_t id() const override { return cluster_->store_id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override {
    return majority_.open_session(std::move(request), deadline);
  }
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override {
    return majority_.renew(session, deadline);
  }
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override {
    return majority_.close_session(session, deadline);
  }
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override { return cluster_->ask_epoch(false, deadline); }
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override {
    return cluster_->ask_epoch(true, deadline);
  }
  Scheme* scheme(std::string_view name) override {
    return name.empty() || name == Majority::declared.scheme ? &majority_ : nullptr;
  }
  std::vector<const Capabilities*> schemes() const override { return {&Majority::declared}; }

 private:
  const std::shared_ptr<Cluster> cluster_;
  Majority majority_;
};

/// `redlock://[user:password@]h1,h2,h3`, `redlock+tls://`, `redlock+unix:///a.sock,/b.sock,/c.sock`.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::redlock
