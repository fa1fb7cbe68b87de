#include "store/redis/server.hpp"

#include "base/escaped.hpp"
#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/log.hpp"
#include "store/credentials.hpp"
#include "store/redis/answers.hpp"
#include "store/redis/letter.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

namespace pawl::store::redis {

namespace {

Error changed() { return {Errc::store_unavailable, "the address leads to another server by now"}; }

void warn_of_evictions(std::string_view info) {
  const std::string policy = dangerous_policy(info);
  if (policy.empty()) return;
  base::log(base::Level::warning, "redis: maxmemory-policy is " + base::printable(policy) +
                                      ": the server may throw locks away; noeviction is right");
}

}  // namespace

Server::Server(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      config_(std::move(config)),
      meta_key_(config_.prefix + "meta"),
      epoch_channel_(config_.prefix + "epoch"),
      mailbox_(base::to_string(runtime.make_id<ClaimId>())),
      secret_(base::to_string(runtime.make_id<ClaimId>())),
      fresh_id_(runtime.random()) {
  if (config_.master.empty()) return;
  sentinels_ = std::make_shared<Sentinels>(runtime_, config_.addresses, config_.master);
}

// On the executor, whichever thread ends it.
Server::~Server() {
  if (runtime_.inert()) return;
  base::or_out_of_memory([this] {
    runtime_.send([connections = std::vector{requests_, listener_, replicas_}, sentinels = sentinels_] {
      if (sentinels) sentinels->stop();
      for (const auto& connection : connections) {
        if (connection) connection->stop();
      }
    });
  });
}

Server::SharedConnection Server::make_connection(Role role) {
  Connection::Plan plan;
  plan.timeout = config_.timeout;
  const std::weak_ptr<Server> weak = weak_from_this();
  const auto gone = [] { return Error{Errc::store_unavailable, "the connection is closed"}; };
  plan.find = [weak, gone, role](Deadline deadline) -> awaitable<Result<net::Address>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    co_return co_await self->find(role, deadline);
  };
  plan.greet = [weak, gone, role](Deadline deadline) -> awaitable<Result<void>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    if (role == Role::listener) co_return co_await self->greet_listener(deadline);
    if (role == Role::replicas) co_return co_await self->greet_beside(role, deadline);
    co_return co_await self->greet(deadline);
  };
  if (role == Role::listener) {
    plan.hear = [weak](const Reply& reply) {
      if (const auto self = weak.lock()) self->hear(reply);
    };
    plan.up = [weak] {
      if (const auto self = weak.lock()) self->listen_anew();
    };
  }
  if (role == Role::requests) {
    plan.up = [weak] {
      if (const auto self = weak.lock()) self->up_again();
    };
    plan.down = [weak](const Error& why) {
      const auto self = weak.lock();
      if (self && self->surroundings_.reconnecting) self->surroundings_.reconnecting(why.message);
    };
  }
  return std::make_shared<Connection>(runtime_, std::move(plan));
}

void Server::attach(Surroundings surroundings) {
  config_.timeout = surroundings.timeout;
  surroundings_ = std::move(surroundings);
}

awaitable<Result<void>> Server::connect(Deadline deadline) {
  if (!requests_) requests_ = make_connection(Role::requests);
  return requests_->ready(deadline);
}

awaitable<Result<void>> Server::listen(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connect(deadline);
  if (!up) co_return up;
  if (!listener_) listener_ = make_connection(Role::listener);
  watch_sentinels();
  co_return co_await listener_->ready(deadline);
}

const Server::SharedConnection& Server::connection(Role role) const {
  if (role == Role::requests) return requests_;
  return role == Role::listener ? listener_ : replicas_;
}

awaitable<Result<net::Address>> Server::find(Role role, Deadline deadline) {
  if (!sentinels_) co_return config_.addresses.front();
  const auto self = shared_from_this();
  Route& route = routes_[static_cast<std::size_t>(role)];
  const std::optional<net::Address> successor = std::exchange(route.successor, std::nullopt);
  route.at_successor = successor.has_value();
  if (successor) co_return *successor;
  route.named.reset();
  Result<net::Address> master = co_await sentinels_->find_master(deadline);
  if (master) route.named = *master;
  co_return master;
}

// Only who holds locks, or waits for one, is in a hurry to hear of a failover: others look for the master when they ask.
void Server::watch_sentinels() {
  if (!sentinels_) return;
  sentinels_->watch(config_.timeout, [weak = weak_from_this()](const net::Address& master) {
    if (const auto self = weak.lock()) self->follow(master);
  });
}

// The old master may live on, and take writes that will be lost, until the sentinels demote it.
void Server::follow(const net::Address& master) {
  for (const Role role : {Role::requests, Role::listener, Role::replicas}) {
    const std::optional<net::Address>& named = routes_[static_cast<std::size_t>(role)].named;
    const bool elsewhere = named && (named->host != master.host || named->port != master.port);
    if (elsewhere && connection(role)) connection(role)->redial(changed());
  }
}

// Sentinels do not notice for long that a master was demoted by Redis' own FAILOVER, and keep naming it. It knows better.
Error Server::refused(Role role, std::string_view info, Error why) {
  Route& route = routes_[static_cast<std::size_t>(role)];
  const std::optional<Upstream> upstream = upstream_of(info);
  const bool is_named = route.named && !route.at_successor;
  if (!is_named || !upstream) return why;
  route.successor = *route.named;
  route.successor->host = upstream->host;
  route.successor->port = upstream->port;
  return why;
}

void Server::probe_listeners() {
  if (listener_) listener_->probe();
  if (sentinels_) sentinels_->probe();
}

awaitable<Result<void>> Server::authenticate(Connection& connection, Deadline deadline) {
  const auto self = shared_from_this();
  CredentialSource source{config_.credentials, config_.password_file, surroundings_.credentials, this};
  const Result<std::optional<base::Credentials>> known = co_await find_credentials(runtime_, std::move(source));
  if (!known) co_return known.error();
  const bool has_password = *known && (*known)->expose().password;
  if (has_password) {
    const base::Credentials::Exposed words = (*known)->expose();
    Words auth{"AUTH"};
    if (!words.user.empty()) auth.push_back(words.user);
    auth.push_back(words.password.value_or(""));
    Result<Reply> welcome = co_await connection.ask(std::move(auth), deadline);
    if (!welcome) co_return welcome.error();
  }
  co_return Result<void>();
}

awaitable<Result<void>> Server::greet(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> known = co_await authenticate(*requests_, deadline);
  if (!known) co_return known;
  if (config_.database != 0) {
    Words select{"SELECT", std::to_string(config_.database)};
    Result<Reply> selected = co_await requests_->ask(std::move(select), deadline);
    if (!selected) co_return selected.error();
  }
  Words question{"INFO"};
  Result<Reply> info = co_await requests_->ask(std::move(question), deadline);
  if (!info) co_return info.error();
  warn_of_evictions(info->text);
  Result<Life> life = life_of(info->text);
  if (!life) co_return refused(Role::requests, info->text, life.error());
  meet(std::move(*life));
  Result<void> taught = co_await teach(deadline);
  if (!taught) co_return taught;
  co_return co_await learn_epoch(false, deadline);
}

/// For a connection beside the one for requests. When the two find different servers the address has moved, and it is not
/// known which of them was first: both dial again.
awaitable<Result<void>> Server::greet_beside(Role role, Deadline deadline) {
  const auto self = shared_from_this();
  const SharedConnection beside = connection(role);
  Result<void> known = co_await authenticate(*beside, deadline);
  if (!known) co_return known;
  Words question{"INFO"};
  Result<Reply> info = co_await beside->ask(std::move(question), deadline);
  if (!info) co_return info.error();
  Result<Life> life = life_of(info->text);
  if (!life) co_return refused(role, info->text, life.error());
  if (*life == life_) co_return Result<void>();
  requests_->leave(changed());
  co_return changed();
}

// What is sent right behind another must not overtake it because only the other one is unknown: a claim behind a release.
// Without keys these do nothing but answer whether they are known. They are long: only those that are not are sent.
awaitable<Result<void>> Server::teach(Deadline deadline) {
  const std::array<const Script*, 3> scripts{&queue_scripts().withdraw, &queue_scripts().claim, &key_scripts().claim};
  std::array<Connection::Asked, 3> asked;
  for (std::size_t i = 0; i < scripts.size(); ++i) asked[i] = requests_->tell({"EVALSHA", scripts[i]->sha1, "0"});
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    Result<Reply> known = co_await requests_->answer_to(asked[i], deadline);
    if (!known) co_return known.error();
    if (known->type == Reply::Type::error) requests_->tell({"EVAL", scripts[i]->text, "0"});
  }
  co_return Result<void>();
}

void Server::meet(Life life) {
  const bool another = !life_.empty() && life_ != life;
  life_ = std::move(life);
  // Also while they are still connecting: to the server before, perhaps.
  if (another && listener_) listener_->redial(changed());
  if (another && replicas_) replicas_->redial(changed());
}

awaitable<Result<void>> Server::learn_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  // A server that has lost its data is the same store as before where a client still knows it: fences are pinned to it.
  const std::uint64_t known = store_id_;
  const std::string id = base::hex(known != 0 ? known : fresh_id_);
  Words words{"EVAL", meta_script().text, "1", meta_key_, life_, id, raise ? "1" : "0"};
  words.push_back(std::to_string(epoch_));
  Result<Reply> answer = co_await requests_->ask(std::move(words), deadline);
  if (!answer) co_return answer.error();
  if (answer->items.size() != 2) co_return Error{Errc::store_unavailable, "the server does not answer as expected"};
  if (answer->items[0].is("layout")) {
    co_return Error{Errc::unsupported, "a newer pawl keeps its locks there, in layout " + answer->items[1].text};
  }
  std::uint64_t store_id = 0;
  if (base::parse_hex(answer->items[1].text, store_id)) store_id_ = store_id;
  const std::uint64_t before = std::exchange(epoch_, whole(answer->items[0].text));
  if (before != 0 && before != epoch_) doubt_sessions();
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Server::ask_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  Error trouble;
  for (int tries = 0; tries < 2; ++tries) {  // a server that is a replica by now is left the first time
    Result<void> up = co_await connect(deadline);
    if (!up) co_return up.error();
    Result<void> known = co_await look_again(raise, deadline);
    if (known) co_return epoch_;
    trouble = known.error();
    if (trouble.code != Errc::store_unavailable) break;
  }
  co_return trouble;
}

awaitable<Result<void>> Server::greet_listener(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> known = co_await greet_beside(Role::listener, deadline);
  if (!known) co_return known;
  const Connection::Asked epochs = listener_->tell({"SUBSCRIBE", epoch_channel_});
  const Connection::Asked mail = listener_->tell({"SUBSCRIBE", config_.prefix + "mail:" + mailbox_});
  for (const Connection::Asked& asked : {epochs, mail}) {
    Result<Reply> subscribed = co_await listener_->answer_to(asked, deadline);
    if (!subscribed) co_return subscribed.error();
  }
  co_return Result<void>();
}

awaitable<Result<Reply>> Server::call(Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (!requests_) requests_ = make_connection(Role::requests);
  co_return co_await requests_->call(std::move(words), deadline);
}

awaitable<Result<Reply>> Server::run(const Script& script, Words arguments, Deadline deadline) {
  const auto self = shared_from_this();
  Error trouble;
  for (int tries = 0; tries < 3; ++tries) {
    if (!requests_ || !requests_->is_up()) {
      Result<void> up = co_await connect(deadline);
      if (!up) co_return up.error();
    }
    Result<Reply> answer = co_await evaluate(script, arguments, deadline);
    const bool stale = answer && !answer->items.empty() && answer->items[0].is("stale");
    if (!stale) co_return answer;
    Result<void> known = co_await look_again(false, deadline);
    trouble = Error{Errc::store_unavailable, known ? "the epoch of the server keeps changing" : known.error().message};
  }
  co_return trouble;  // nothing was done: each answer was "stale"
}

awaitable<Result<Reply>> Server::evaluate(const Script& script, const Words& arguments, Deadline deadline) {
  Words words{"EVALSHA", script.sha1, "1", meta_key_, config_.prefix, std::to_string(epoch_)};
  words.append(arguments);
  Result<Reply> answer = co_await requests_->ask(std::move(words), deadline);
  const bool unknown_script = answer && answer->type == Reply::Type::error;
  if (!unknown_script) co_return answer;
  Words again{"EVAL", script.text, "1", meta_key_, config_.prefix, std::to_string(epoch_)};
  again.append(arguments);
  co_return co_await requests_->call(std::move(again), deadline);
}

// After "stale": another client has begun a new epoch, or the server has lost its data, or it is a replica by now whose
// master has a new epoch. A server that cannot take locks any more is left, and its address dialled again.
awaitable<Result<void>> Server::look_again(bool raise, Deadline deadline) {
  Words question{"INFO"};
  Result<Reply> info = co_await requests_->call(std::move(question), deadline);
  if (!info) co_return info.error();
  Result<Life> life = life_of(info->text);
  if (!life) {
    requests_->leave(life.error());
    co_return life.error();
  }
  meet(std::move(*life));
  co_return co_await learn_epoch(raise, deadline);
}

bool Server::is_another_epoch(SessionId session) {
  if (std::exchange(sessions_[session], epoch_) == epoch_) return false;
  base::spawn(runtime_, drop_unknown_claims(shared_from_this(), session));
  return true;
}

// A release, or the withdrawal of a waiter, that the server has lost: the claim would keep its place as long as the session
// lives. When that does not succeed, the next renewal begins again.
awaitable<void> Server::drop_unknown_claims([[maybe_unused]] std::shared_ptr<Server> self, SessionId session) {
  for (const std::string_view kind : {"o:", "z:"}) {
    Result<void> dropped = co_await drop_unknown_claims(session, kind);
    if (dropped) continue;
    const auto known = sessions_.find(session);
    if (known != sessions_.end()) known->second = 0;
    co_return;
  }
}

awaitable<Result<void>> Server::drop_unknown_claims(SessionId session, std::string_view kind) {
  std::string cursor = "0";
  do {
    Words words{base::to_string(session), kind, cursor};
    const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
    Result<Reply> some = co_await run(queue_scripts().session_claims, std::move(words), deadline);
    if (!some) co_return some.error();
    if (some->items.empty()) co_return unexpected();
    cursor = some->items[0].text;
    for (std::size_t i = 1; i + 1 < some->items.size(); i += 2) {
      ClaimId claim;
      const bool known = !base::parse_hex(some->items[i].text, claim.high, claim.low) || notices_.watched(claim);
      if (known) continue;
      Words leave{some->items[i].text, base::to_string(session), some->items[i + 1].text, "1", "0"};
      const Deadline soon = Deadline::in(runtime_.now(), config_.timeout);
      Result<Reply> left = co_await run(queue_scripts().withdraw, std::move(leave), soon);
      if (!left) co_return left.error();
    }
  } while (cursor != "0");
  co_return Result<void>();
}

// "message", channel, what.
void Server::hear(const Reply& reply) {
  if (reply.items.size() != 3 || !reply.items[0].is("message")) return;
  if (reply.items[1].is(epoch_channel_)) return hear_of_epoch(reply.items[2].text);
  if (const auto heard = channels_.find(reply.items[1].text); heard != channels_.end()) return tell(heard->second);
  std::optional<Letter> letter = Letter::read(reply.items[2].text, secret_, config_.wait_replicas == 0);
  if (!letter) return;
  // Of an earlier epoch: the server may have lost it since. Of a later one: we have to look at the server first.
  const bool granted = letter->notice.what == Notice::What::granted;
  if (granted && letter->notice.grant.token.epoch() != epoch_) letter->notice = Notice();
  notices_.tell(letter->claim, letter->notice);
}

// Only a hint, and any client that may publish can send it: the server is asked, by one question at a time. Sessions are
// doubted only if its epoch has changed.
void Server::hear_of_epoch(const std::string& announced) {
  if (whole(announced) <= epoch_) return;
  asks_epoch_again_ = true;
  if (std::exchange(asks_epoch_, true)) return;
  base::spawn(runtime_, check_epoch(shared_from_this()));
}

awaitable<void> Server::check_epoch([[maybe_unused]] std::shared_ptr<Server> self) {
  while (std::exchange(asks_epoch_again_, false)) {
    const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
    [[maybe_unused]] Result<std::uint64_t> known =
        co_await ask_epoch(false, deadline);  // if not: up_again() doubts them
  }
  asks_epoch_ = false;
}

void Server::tell(const std::set<ClaimId>& claims) {
  for (const ClaimId claim : claims) notices_.tell(claim, Notice());
}

void Server::hear_of(const std::string& channel, ClaimId claim) {
  std::set<ClaimId>& claims = channels_[channel];
  if (claims.empty() && listener_) listener_->send({"SUBSCRIBE", channel});
  claims.insert(claim);
}

bool Server::hears(const std::string& channel, ClaimId claim) const {
  const auto found = channels_.find(channel);
  return found != channels_.end() && found->second.contains(claim);
}

void Server::hear_no_more(ClaimId claim) {
  for (auto entry = channels_.begin(); entry != channels_.end();) {
    const bool last = entry->second.erase(claim) == 1 && entry->second.empty();
    if (last && listener_) listener_->send({"UNSUBSCRIBE", entry->first});
    entry = last ? channels_.erase(entry) : std::next(entry);
  }
}

awaitable<Result<std::int64_t>> Server::replicas_that_know(Duration patience, Deadline deadline) {
  const auto self = shared_from_this();
  const Life granted_by = life_;
  if (!replicas_) replicas_ = make_connection(Role::replicas);
  Result<void> up = co_await replicas_->ready(deadline);
  if (!up) co_return up.error();
  // WAIT goes by what the server had written when this connection asked it last; since Redis 7.2, when this connection wrote
  // last. A message counts as written, and is behind the grant.
  const Connection::Asked written = replicas_->tell({"PUBLISH", config_.prefix + "wait", ""});
  const Connection::Asked who = replicas_->tell({"INFO"});
  Words wait{"WAIT", std::to_string(config_.wait_replicas)};
  wait.push_back(std::to_string(std::chrono::ceil<std::chrono::milliseconds>(patience).count()));
  const Connection::Asked how_many = replicas_->tell(wait);
  Result<Reply> after_grant = co_await replicas_->answer_to(written, deadline);
  if (!after_grant) co_return after_grant.error();
  Result<Reply> info = co_await replicas_->answer_to(who, deadline);
  if (!info) co_return info.error();
  const Result<Life> life = life_of(info->text);
  if (!life || *life != life_) leave_all(life ? changed() : life.error());
  if (!life) co_return life.error();
  if (*life != granted_by) co_return Error{Errc::store_unavailable, "the server has changed since the grant"};
  Result<Reply> known = co_await replicas_->answer_to(how_many, deadline);
  if (!known) co_return known.error();
  co_return known->number();
}

void Server::leave_all(const Error& why) {
  for (const SharedConnection& connection : {requests_, listener_, replicas_}) {
    if (connection) connection->redial(why);
  }
}

// Whatever was sent while nobody listened is lost.
void Server::listen_anew() {
  for (const auto& [channel, claims] : channels_) listener_->send({"SUBSCRIBE", channel});
  notices_.tell_all_to_look();
  doubt_sessions();
}

// It may have been started again meanwhile, without its data.
void Server::up_again() {
  if (std::exchange(was_up_, true)) doubt_sessions();
}

void Server::doubt_sessions() {
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

}  // namespace pawl::store::redis
