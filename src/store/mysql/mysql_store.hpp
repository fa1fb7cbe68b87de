#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/mysql/for_update.hpp"
#include "store/mysql/named.hpp"
#include "store/mysql/queue.hpp"
#include "store/mysql/schema.hpp"
#include "store/mysql/server.hpp"
#include "store/mysql/unique.hpp"
#include "store/mysql/version.hpp"
#include "store/store.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store::mysql {

/// MariaDB, and MySQL by the same statements.
class MysqlStore final : public Store {
 public:
  MysqlStore(base::Runtime& runtime, Config config);

  void attach(Surroundings surroundings) override { server_->attach(std::move(surroundings)); }
  awaitable<Result<void>> connect(Deadline deadline) override { return server_->connect(deadline); }
  std::uint64_t id() const override { return server_->store_id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override;
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override;
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override;
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override { return server_->ask_epoch(false, deadline); }
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override {
    return server_->ask_epoch(true, deadline);
  }
  std::string schema() const override { return schema_script(); }
  awaitable<Result<std::string>> apply_schema(Deadline deadline) override { return server_->apply_schema(deadline); }
  Scheme* scheme(std::string_view name) override;
  std::vector<const Capabilities*> schemes() const override {
    return {&Queue::declared, &Unique::declared, &Version::declared, &named_.capabilities(),
            &for_update_.capabilities()};
  }

 private:
  base::Runtime& runtime_;
  const std::shared_ptr<Server> server_;
  Queue queue_;
  Unique unique_;
  Version version_;
  const std::shared_ptr<OnConnection::Pool> pool_;
  Named named_;
  ForUpdate for_update_;
};

/// `mysql://[user:password@]host:port/database`, `mariadb://`, `mysql+unix:///path/of/the/socket?db=database`.
Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);

}  // namespace pawl::store::mysql
