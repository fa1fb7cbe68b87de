#include "store/mysql/mysql_store.hpp"

#include "store/mysql/answers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace pawl::store::mysql {

MysqlStore::MysqlStore(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      server_(std::make_shared<Server>(runtime, std::move(config))),
      queue_(server_),
      unique_(server_),
      version_(server_),
      pool_(std::make_shared<OnConnection::Pool>()),
      named_(server_, pool_),
      for_update_(server_, pool_) {}

awaitable<Result<SessionGrant>> MysqlStore::open_session(SessionRequest request, Deadline deadline) {
  const auto server = server_;
  const Duration lease = std::clamp(request.lease, Queue::declared.shortest_lease, Queue::declared.longest_lease);
  const SessionId id = runtime_.make_id<SessionId>();
  // First listen, then ask: a grant in between must not be missed.
  Result<void> listening = co_await server->listen(deadline);
  if (!listening) co_return listening.error();
  std::vector<std::string> words{to_string(id),
                                 std::to_string(std::chrono::floor<std::chrono::microseconds>(lease).count()),
                                 server->mailbox(),
                                 request.owner.host,
                                 std::to_string(request.owner.pid),
                                 request.owner.label};
  Result<std::vector<Row>> rows = co_await server->run("open_session", std::move(words), deadline, Turn::urgent);
  if (!rows) co_return rows.error();
  server->opened(id);
  co_return SessionGrant{id, lease};
}

awaitable<Result<Renewal>> MysqlStore::renew(SessionId session, Deadline deadline) {
  const auto server = server_;
  std::vector<std::string> words{to_string(session)};
  Result<std::vector<Row>> rows = co_await server->run("renew", std::move(words), deadline, Turn::urgent);
  if (!rows) co_return rows.error();
  if (rows->empty() || rows->front().size() != 3) co_return unexpected();
  if (rows->front()[0] != "1") {
    server->closed(session);
    co_return Error{Errc::lost, "session " + to_string(session) + " has ended: its lease ran out or it was closed"};
  }
  Renewal renewal = renewal_of(*rows);
  if (server->is_another_epoch(session)) {
    renewal.changes = server->epoch();
    renewal.changed.reset();
  }
  const std::array<OnConnection*, 2> on_connections{&named_, &for_update_};
  for (OnConnection* const scheme : on_connections) {
    Result<std::vector<ClaimId>> gone = co_await scheme->touch(session, deadline);
    if (!gone) co_return gone.error();
    renewal.unconfirmed.insert(renewal.unconfirmed.end(), gone->begin(), gone->end());
  }
  co_return renewal;
}

awaitable<Result<void>> MysqlStore::close_session(SessionId session, Deadline deadline) {
  const auto server = server_;
  server->closed(session);
  named_.end_session(session);
  for_update_.end_session(session);
  // What it held is swept bit by bit: others wait for each call.
  for (;;) {
    std::vector<std::string> words{to_string(session)};
    Result<std::vector<Row>> rows = co_await server->run("close_session", std::move(words), deadline);
    if (!rows) co_return rows.error();
    if (rows->size() != 1 || rows->front().size() != 1) co_return unexpected();
    if (rows->front()[0] == "1") co_return Result<void>();
  }
}

Scheme* MysqlStore::scheme(std::string_view name) {
  if (name == Unique::declared.scheme) return &unique_;
  if (name == Version::declared.scheme) return &version_;
  if (name == Named::declared.scheme) return &named_;
  if (name == ForUpdate::declared.scheme) return &for_update_;
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<Config> config = read_config(url, options);
  if (!config) return config.error();
  return std::make_shared<MysqlStore>(runtime, std::move(*config));
}

}  // namespace pawl::store::mysql
