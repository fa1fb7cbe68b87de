#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/redis/key_lease.hpp"
#include "store/redis/queue.hpp"
#include "store/redis/server.hpp"
#include "store/store.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

class RedisStore final : public Store {
 public:
  RedisStore(base::Runtime& runtime, Config config);

  void attach(Surroundings surroundings) override { server_->attach(std::move(surroundings)); }
  awaitable<Result<void>> connect(Deadline deadline) override { return server_->connect(deadline); }
  std::uint64_t id() const override { return server_->store_id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override;
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override;
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override;
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override;
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override {
    return server_->ask_epoch(true, deadline);
  }
  Scheme* scheme(std::string_view name) override;
  std::vector<const Capabilities*> schemes() const override {
    if (server_->config().raw_names) return {&Simple::declared, &Redisson::declared};
    return {&Queue::declared, &Simple::declared, &Redisson::declared};
  }

 private:
  base::Runtime& runtime_;
  const std::shared_ptr<Server> server_;
  Queue queue_;
  Simple simple_;
  Redisson redisson_;
};

/// `redis://[user:password@]host:port/db`, `rediss://`, `redis+unix:///path`, `redis+sentinel://h1,h2,h3/name`.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::redis
