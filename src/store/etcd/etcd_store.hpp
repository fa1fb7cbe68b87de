#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/etcd/queue.hpp"
#include "store/etcd/server.hpp"
#include "store/store.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store::etcd {

class EtcdStore final : public Store {
 public:
  EtcdStore(base::Runtime& runtime, Config config);

  void attach(Surroundings surroundings) override { server_->attach(std::move(surroundings)); }
  awaitable<Result<void>> connect(Deadline deadline) override { return server_->connect(deadline); }
  std::uint64_t id() const override { return server_->store_id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override {
    return server_->open_session(std::move(request), deadline);
  }
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override {
    return server_->renew(session, deadline);
  }
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override {
    return server_->close_session(session, deadline);
  }
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override { return server_->epoch(deadline); }
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override { return server_->raise_epoch(deadline); }
  Scheme* scheme(std::string_view name) override;
  std::vector<const Capabilities*> schemes() const override { return {&Queue::declared}; }

 private:
  const std::shared_ptr<Server> server_;
  Queue queue_;
};

/// `etcd://[user:password@]h1,h2,h3`, `etcd+tls://`, `etcd+srv://domain`.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::etcd
