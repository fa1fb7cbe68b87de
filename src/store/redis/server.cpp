#include "store/redis/server.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/log.hpp"
#include "store/credentials.hpp"
#include "store/redis/answers.hpp"

#include <string_view>
#include <utility>

namespace pawl::store::redis {

namespace {

/// "run_id" of "...\r\nrun_id:8a7f\r\n...".
std::string field(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t found = info.find(start);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + start.size();
  return std::string(info.substr(begin, info.find_first_of("\r\n", begin) - begin));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// `believes`: a grant needs no more than the word of the server; otherwise it is looked at again.
std::optional<Notice> notice_of(const std::vector<std::string_view>& words, bool believes) {
  if (words.size() < 2) return std::nullopt;
  Notice notice;
  if (words[1] == "again") return notice;
  if (words[1] == "contended") notice.what = Notice::What::contended;
  if (words[1] == "asked") notice.what = Notice::What::release_requested;
  if (words[1] == "gone") notice.what = Notice::What::gone;
  if (words[1] == "granted" && words.size() == 5 && believes) {
    notice.what = Notice::What::granted;
    notice.grant.token = Token(whole(words[2]), whole(words[3]));
    notice.grant.contended = words[4] == "1";
  }
  return notice;
}

}  // namespace

Server::Server(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      config_(std::move(config)),
      meta_key_(config_.prefix + "meta"),
      mailbox_(base::to_string(runtime.make_id<ClaimId>())),
      fresh_id_(runtime.random()) {}

// On the executor, whichever thread ends it.
Server::~Server() {
  if (runtime_.inert()) return;
  runtime_.send([connections = std::vector{requests_, listener_, replicas_}] {
    for (const auto& connection : connections) {
      if (connection) connection->stop();
    }
  });
}

Server::SharedConnection Server::make_connection(Role role) {
  Connection::Plan plan;
  plan.timeout = config_.timeout;
  const std::weak_ptr<Server> weak = weak_from_this();
  const auto gone = [] { return Error{Errc::store_unavailable, "the connection is closed"}; };
  plan.find = [weak, gone](Deadline deadline) -> awaitable<Result<net::Address>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    co_return co_await self->find(deadline);
  };
  plan.greet = [weak, gone, role](Deadline deadline) -> awaitable<Result<void>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    if (role == Role::listener) co_return co_await self->greet_listener(deadline);
    if (role == Role::replicas) co_return co_await self->authenticate(*self->replicas_, deadline);
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
  if (!listener_) listener_ = make_connection(Role::listener);
  return listener_->ready(deadline);
}

awaitable<Result<net::Address>> Server::find(Deadline deadline) {
  if (!config_.master.empty()) co_return co_await ask_sentinels(deadline);
  co_return config_.addresses.front();
}

awaitable<Result<net::Address>> Server::ask_sentinels(Deadline deadline) {
  const auto self = shared_from_this();
  Error last{Errc::store_unavailable, "no sentinel answers"};
  const std::size_t count = config_.addresses.size();
  const Duration each = (deadline.at - runtime_.now()) / static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    // Each time another one first: one that is cut off from the others keeps naming the old master.
    const net::Address address = config_.addresses[next_sentinel_++ % count];
    Connection::Plan plan;
    plan.timeout = each;
    plan.once = true;
    plan.find = [address](Deadline) -> awaitable<Result<net::Address>> { co_return address; };
    plan.greet = [](Deadline) -> awaitable<Result<void>> { co_return Result<void>(); };
    const auto sentinel = std::make_shared<Connection>(runtime_, std::move(plan));
    const Deadline until = Deadline::in(runtime_.now(), each).sooner(deadline.at);
    Words question{"SENTINEL", "get-master-addr-by-name", config_.master};
    Result<Reply> answer = co_await sentinel->call(std::move(question), until);
    sentinel->stop();
    if (answer && answer->items.size() == 2) {
      net::Address master = address;
      master.host = answer->items[0].text;
      master.port = static_cast<std::uint16_t>(answer->items[1].number());
      co_return master;
    }
    if (answer) {
      last = Error{Errc::store_unavailable, "the sentinels know no master \"" + base::printable(config_.master) + "\""};
    } else {
      last = answer.error();
    }
  }
  co_return last;
}

awaitable<Result<void>> Server::authenticate(Connection& connection, Deadline deadline) {
  const auto self = shared_from_this();
  CredentialSource source{config_.credentials, config_.password_file, surroundings_.credentials};
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
  if (Result<void> fine = co_await look_at_server(deadline); !fine) co_return fine;
  teach();
  co_return co_await learn_epoch(false, deadline);
}

awaitable<Result<void>> Server::look_at_server(Deadline deadline) {
  Words question{"INFO"};
  Result<Reply> info = co_await requests_->ask(std::move(question), deadline);
  if (!info) co_return info.error();
  co_return judge(info->text);
}

// What is sent right behind another must not overtake it because only the other one is unknown: a claim behind a release.
void Server::teach() {
  for (const Script* script : {&queue_scripts().withdraw, &queue_scripts().claim, &key_scripts().claim}) {
    requests_->tell({"EVAL", script->text, "0"});
  }
}

Result<void> Server::judge(const std::string& info) {
  if (field(info, "redis_mode") == "cluster") {
    return Error{Errc::unsupported, "the server is part of a Redis cluster, which pawl does not support"};
  }
  if (field(info, "loading") == "1") {
    return Error{Errc::store_unavailable, "the server is still loading its data"};
  }
  if (field(info, "role") == "slave") {
    return Error{Errc::store_unavailable, std::string(replica_sentence)};
  }
  const std::string policy = field(info, "maxmemory_policy");
  const std::string memory = field(info, "maxmemory");
  if (!memory.empty() && memory != "0" && policy != "noeviction") {
    base::log(base::Level::warning, "redis: maxmemory-policy is " + base::printable(policy) +
                                        ": the server may throw locks away; noeviction is right");
  }
  // The second changes whenever it becomes a master: it may have been somebody's replica in between.
  const std::string run_id = field(info, "run_id") + ":" + field(info, "master_replid");
  if (run_id == ":")
    return Error{Errc::unsupported, "the server does not tell its run_id: its lives cannot be told apart"};
  const bool another = !run_id_.empty() && run_id_ != run_id;
  if (another && listener_) listener_->reconnect();
  run_id_ = run_id;
  return {};
}

awaitable<Result<void>> Server::learn_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  Words words{"EVAL", meta_script().text, "1", meta_key_, run_id_, base::hex(fresh_id_), raise ? "1" : "0"};
  words.push_back(std::to_string(epoch_));
  Result<Reply> answer = co_await requests_->ask(std::move(words), deadline);
  if (!answer) co_return answer.error();
  if (answer->items.size() != 2) co_return Error{Errc::store_unavailable, "the server does not answer as expected"};
  if (answer->items[0].is("layout")) {
    co_return Error{Errc::unsupported, "a newer pawl keeps its locks there, in layout " + answer->items[1].text};
  }
  epoch_ = whole(answer->items[0].text);
  std::uint64_t store_id = 0;
  if (base::parse_hex(answer->items[1].text, store_id)) store_id_ = store_id;
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Server::ask_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connect(deadline);
  if (!up) co_return up.error();
  Result<void> raised = co_await learn_epoch(raise, deadline);
  if (!raised) co_return raised.error();
  co_return epoch_;
}

awaitable<Result<void>> Server::greet_listener(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> known = co_await authenticate(*listener_, deadline);
  if (!known) co_return known;
  Words subscribe{"SUBSCRIBE", config_.prefix + "mail:" + mailbox_};
  Result<Reply> subscribed = co_await listener_->ask(std::move(subscribe), deadline);
  if (!subscribed) co_return subscribed.error();
  co_return Result<void>();
}

awaitable<Result<Reply>> Server::call(Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (!requests_) requests_ = make_connection(Role::requests);
  co_return co_await requests_->call(std::move(words), deadline);
}

awaitable<Result<Reply>> Server::run(const Script& script, Words arguments, Deadline deadline) {
  const auto self = shared_from_this();
  for (int tries = 0; tries < 3; ++tries) {
    if (!requests_ || !requests_->is_up()) {
      Result<void> up = co_await connect(deadline);
      if (!up) co_return up.error();
    }
    Words words{"EVALSHA", script.sha1, "1", meta_key_, config_.prefix, std::to_string(epoch_)};
    words.append(arguments);
    Result<Reply> answer = co_await requests_->ask(std::move(words), deadline);
    const bool unknown_script = answer && answer->type == Reply::Type::error;
    if (unknown_script) {
      Words again{"EVAL", script.text, "1", meta_key_, config_.prefix, std::to_string(epoch_)};
      again.append(arguments);
      answer = co_await requests_->call(std::move(again), deadline);
    }
    const bool stale = answer && !answer->items.empty() && answer->items[0].is("stale");
    if (!stale) co_return answer;
    // Somebody has begun another life of the store, or the server has lost its memory.
    if (Result<void> fine = co_await look_at_server(deadline); !fine) co_return fine.error();
    if (Result<void> learned = co_await learn_epoch(false, deadline); !learned) co_return learned.error();
  }
  co_return Error{Errc::store_unavailable, "the epoch of the server changes all the time"};
}

// "message", channel, what.
void Server::hear(const Reply& reply) {
  if (reply.items.size() != 3 || !reply.items[0].is("message")) return;
  if (const auto heard = channels_.find(reply.items[1].text); heard != channels_.end()) return tell(heard->second);
  const std::vector<std::string_view> words = split(reply.items[2].text);
  ClaimId claim;
  if (words.empty() || !base::parse_hex(words[0], claim.high, claim.low)) return;
  const auto found = watches_.find(claim);
  const std::optional<Notice> notice = notice_of(words, config_.wait_replicas == 0);
  if (found != watches_.end() && notice) found->second(*notice);
}

void Server::tell(const std::set<ClaimId>& claims) {
  for (const ClaimId claim : claims) {
    const auto found = watches_.find(claim);
    if (found != watches_.end()) found->second(Notice());
  }
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
  if (!replicas_) replicas_ = make_connection(Role::replicas);
  // WAIT goes by what the server had written when this connection asked it last.
  Words ping{"PING"};
  Result<Reply> there = co_await replicas_->call(std::move(ping), deadline);
  if (!there) co_return there.error();
  Words wait{"WAIT", std::to_string(config_.wait_replicas)};
  wait.push_back(std::to_string(std::chrono::ceil<std::chrono::milliseconds>(patience).count()));
  Result<Reply> known = co_await replicas_->call(std::move(wait), deadline);
  if (!known) co_return known.error();
  co_return known->number();
}

// Whatever was sent while nobody listened is lost.
void Server::listen_anew() {
  for (const auto& [channel, claims] : channels_) listener_->send({"SUBSCRIBE", channel});
  for (const auto& [claim, waker] : watches_) waker(Notice());
}

}  // namespace pawl::store::redis
