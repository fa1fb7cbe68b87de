#include "store/redis/redis_store.hpp"

#include "store/net/tls.hpp"
#include "store/redis/answers.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace pawl::store::redis {

RedisStore::RedisStore(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      server_(std::make_shared<Server>(runtime, std::move(config))),
      queue_(server_),
      simple_(server_),
      redisson_(server_) {}

awaitable<Result<SessionGrant>> RedisStore::open_session(SessionRequest request, Deadline deadline) {
  const auto server = server_;
  const Duration lease = std::clamp(request.lease, Queue::declared.shortest_lease, Queue::declared.longest_lease);
  const SessionId id = runtime_.make_id<SessionId>();
  // First listen, then ask: a grant in between must not be missed.
  Result<void> listening = co_await server->listen(deadline);
  if (!listening) co_return listening.error();
  Words words{to_string(id),
              std::to_string(std::chrono::floor<std::chrono::milliseconds>(lease).count()),
              server->mailbox(),
              request.owner.host,
              std::to_string(request.owner.pid),
              request.owner.label,
              server->secret()};
  Result<Reply> reply = co_await server->run(queue_scripts().open_session, std::move(words), deadline);
  if (!reply) co_return reply.error();
  if (reply->type != Reply::Type::integer) co_return unexpected();
  server->opened(id);
  co_return SessionGrant{id, lease};
}

// One request, and as many more as the keys of `simple` and `redisson` take.
awaitable<Result<Renewal>> RedisStore::renew(SessionId session, Deadline deadline) {
  const auto server = server_;
  server->probe_listeners();
  std::string cursor = "0";
  for (;;) {
    Words words{to_string(session), cursor};
    Result<Reply> reply = co_await server->run(queue_scripts().renew, std::move(words), deadline);
    if (!reply) co_return reply.error();
    if (reply->type == Reply::Type::array && reply->items.empty()) {
      server->closed(session);
      co_return Error{Errc::lost, "session " + to_string(session) + " has ended: its lease ran out or it was closed"};
    }
    if (reply->items.size() < 2) co_return unexpected();
    cursor = reply->items[0].text;
    if (cursor != "0") continue;
    Renewal renewal = renewal_of(*reply);
    if (server->is_another_epoch(session)) {
      renewal.changes = server->epoch();
      renewal.changed.reset();
    }
    co_return renewal;
  }
}

// One request marks it as ended; what it leaves behind is swept with as many as that takes.
awaitable<Result<void>> RedisStore::close_session(SessionId session, Deadline deadline) {
  const auto server = server_;
  server->closed(session);
  for (;;) {
    Words words{to_string(session)};
    Result<Reply> reply = co_await server->run(queue_scripts().close_session, std::move(words), deadline);
    if (!reply) co_return reply.error();
    if (reply->type != Reply::Type::integer) co_return unexpected();
    if (reply->number() == 1) co_return Result<void>();
  }
}

awaitable<Result<std::uint64_t>> RedisStore::epoch(Deadline deadline) {
  const auto server = server_;
  co_return co_await server->ask_epoch(false, deadline);
}

Scheme* RedisStore::scheme(std::string_view name) {
  if (server_->config().raw_names && name == Queue::declared.scheme) return nullptr;
  if (name == Simple::declared.scheme) return &simple_;
  if (name == Redisson::declared.scheme) return &redisson_;
  if (name.empty() && server_->config().raw_names) return &simple_;
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<Config> config = read_config(url, options);
  if (!config) return config.error();
  if (config->tls) {
    const Result<std::shared_ptr<const net::TlsContext>> tls = net::TlsContext::make(*config->tls);
    if (!tls) return tls.error();
    for (net::Address& address : config->addresses) address.tls = *tls;
  }
  return std::make_shared<RedisStore>(runtime, std::move(*config));
}

}  // namespace pawl::store::redis
