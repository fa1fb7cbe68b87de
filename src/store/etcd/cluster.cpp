#include "store/etcd/cluster.hpp"

#include "base/escaped.hpp"
#include "base/gathering.hpp"
#include "base/timer.hpp"
#include "base/wakeup.hpp"
#include "store/etcd/members.hpp"
#include "store/etcd/requests.hpp"
#include "store/etcd/watches.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::store::etcd {

namespace {

constexpr Duration shortest_patience = std::chrono::seconds(1);
constexpr Duration pause_of_streams = std::chrono::milliseconds(100);
constexpr int most_logins = 10;  // of one call

using Next = Verdict::Next;

Error error_of(const Members::SharedChannel& channel, const Status& status) {
  return {verdict_of(status).code, channel->address().to_string() + ": " + status.message};
}

/// What may be done when the answer to a request was lost.
enum class Nature : std::uint8_t {
  read,        // ask again: nothing was changed
  repeatable,  // ask again: to do it twice is to do it once
  write,       // nothing: it may have been applied
};

}  // namespace

/// The answers to keepalives on the shared stream, in the order of the questions for each lease.
struct Keeping {
  explicit Keeping(base::Runtime& runtime) : wakeup(runtime) {}
  base::Wakeup wakeup;
  std::optional<Cluster::Kept> kept = {};
  bool broken = false;
};

class Cluster::Impl : public std::enable_shared_from_this<Cluster::Impl> {
 public:
  Impl(base::Runtime& on, Config config);

  void start(Plan plan);
  void stop();
  static void end(const std::shared_ptr<Impl>& impl);

  template <class Response, class Request>
  awaitable<Result<Response>> call(std::string_view path, Request request, Nature nature, Deadline deadline);

  awaitable<Result<Kept>> keep_alive(std::int64_t id, Deadline deadline);
  WatchId watch(std::string key, std::string range_end, Watches::Hear hear);
  awaitable<Result<std::int64_t>> watched_from(WatchId id, Deadline deadline);
  void unwatch(WatchId id);

  const std::shared_ptr<Members> members;

 private:
  /// The two streams that live as long as a channel does.
  enum class Role : std::uint8_t { watches, keepalives };
  class Pipe;
  struct Stream {
    Members::SharedChannel channel = {};
    Channel::CallId call = 0;
    std::shared_ptr<Pipe> pipe = {};
    Channel::Token token = {};
  };

  awaitable<Result<std::string>> ask(std::string_view path, std::string body, Nature nature, Deadline deadline);
  Deadline patience(Deadline deadline) const;
  void turn_from(const Members::SharedChannel& channel, const Status& status, base::Time began, const Error& why);
  void seen(const pb::ResponseHeader& header) const {
    if (plan_.seen) plan_.seen(header);
  }

  bool open(Role role);
  Stream& stream(Role role) { return role == Role::watches ? watching_ : keeping_; }
  void close(Role role);
  void took(Role role, const std::string& bytes);
  void ended(Role role, const Status& status);
  void open_soon();
  awaitable<void> log_in_and_open(std::shared_ptr<Impl> self, Channel::Token refused);

  void open_needed();
  void push_watches();
  void take_watch(const pb::WatchResponse& response);
  void take_keepalive(const pb::LeaseKeepAliveResponse& response);
  void fail_keepings();
  void settle(WatchId id);

  void went_up();
  void went_down(const Error& why);

  base::Runtime& runtime_;
  const Config config_;
  Plan plan_;
  Duration timeout_ = {};
  Stream watching_;
  Stream keeping_;
  Watches watches_;
  std::map<WatchId, std::shared_ptr<base::Gathering>> expecting_;
  std::unordered_map<std::int64_t, std::deque<std::shared_ptr<Keeping>>> keepings_;
  base::Timer reopen_;
  bool was_up_ = false;
  bool down_ = false;
  bool logging_in_ = false;
  bool over_ = false;
};

class Cluster::Impl::Pipe final : public Channel::Hearer {
 public:
  Pipe(std::weak_ptr<Impl> impl, Role role) : impl_(std::move(impl)), role_(role) {}
  void message(const std::string& bytes) override {
    if (const auto impl = impl_.lock(); impl && impl->stream(role_).pipe.get() == this) impl->took(role_, bytes);
  }
  void finished(const Status& status) override {
    if (const auto impl = impl_.lock(); impl && impl->stream(role_).pipe.get() == this) impl->ended(role_, status);
  }

 private:
  const std::weak_ptr<Impl> impl_;
  const Role role_;
};

Cluster::Impl::Impl(base::Runtime& on, Config config)
    : members(std::make_shared<Members>(on, config)),
      runtime_(on),
      config_(std::move(config)),
      reopen_(on, [this] { open_needed(); }) {}

void Cluster::Impl::start(Plan plan) {
  plan_ = std::move(plan);
  Members::Plan with;
  timeout_ = plan_.timeout > Duration::zero() ? plan_.timeout : config_.timeout;
  with.timeout = timeout_;
  with.credentials = {.from_url = config_.credentials,
                      .password_file = config_.password_file,
                      .ask = plan_.credentials,
                      .client = this};
  with.up = [weak = weak_from_this()](const Members::SharedChannel& /*channel*/) {
    if (const auto self = weak.lock()) self->went_up();
  };
  with.down = [weak = weak_from_this()](const Error& why) {
    if (const auto self = weak.lock()) self->went_down(why);
  };
  members->start(std::move(with));
}

void Cluster::Impl::stop() {
  over_ = true;
  plan_ = {};
  reopen_.cancel();
  watching_ = {};
  keeping_ = {};
  members->stop();
  fail_keepings();
  for (const auto& [id, gathering] : expecting_) gathering->notify();
}

void Cluster::Impl::end(const std::shared_ptr<Impl>& impl) {
  if (impl->runtime_.inert()) return;
  base::or_out_of_memory([&impl] { impl->runtime_.send([impl] { impl->stop(); }); });
}

void Cluster::Impl::went_up() {
  open_needed();
  if (std::exchange(was_up_, true) && std::exchange(down_, false) && plan_.up) plan_.up();
}

void Cluster::Impl::went_down(const Error& why) {
  close(Role::watches);
  close(Role::keepalives);
  down_ = true;
  if (plan_.down) plan_.down(why.message);
}

// A member that does not answer leaves time for the others.
Deadline Cluster::Impl::patience(Deadline deadline) const {
  const base::Time now = runtime_.now();
  const Duration share = (deadline.at - now) / static_cast<std::int64_t>(members->count());
  return deadline.sooner(base::after(now, std::max(share, shortest_patience)));
}

awaitable<Result<std::string>> Cluster::Impl::ask(std::string_view path, std::string body, Nature nature,
                                                  Deadline deadline) {
  bool maybe_applied = false;
  int logins = 0;
  Error why{Errc::store_unavailable, "there was no time left to ask"};
  while (!deadline.passed(runtime_.now())) {
    if (!members->channel()) {
      Result<void> up = co_await members->ready(deadline);
      if (!up) {
        why = up.error();
        break;
      }
    }
    const Members::SharedChannel channel = members->channel();
    if (!channel) continue;  // gone again
    const Channel::Token token = members->token();
    const base::Time began = runtime_.now();
    const Deadline patient = patience(deadline);
    Channel::Reply reply = co_await channel->unary(path, body, token, patient);
    if (reply.status.ok()) co_return std::move(reply.bytes);
    const Verdict verdict = verdict_of(reply.status);
    why = error_of(channel, reply.status);
    maybe_applied = maybe_applied || verdict.maybe_applied;
    if (verdict.code == Errc::overloaded) co_return why;
    if (maybe_applied && nature == Nature::write) {
      turn_from(channel, reply.status, began, why);
      break;
    }
    if (verdict.next == Next::give_up) co_return why;
    if (verdict.next == Next::log_in) {
      if (++logins > most_logins) co_return why;
      Result<void> logged_in = co_await members->log_in_anew(token, deadline);
      if (!logged_in && logged_in.code() == Errc::permission_denied) co_return logged_in.error();
      if (!logged_in) why = logged_in.error();
      if (!logged_in && !deadline.passed(runtime_.now())) members->leave(channel, why);
      continue;
    }
    turn_from(channel, reply.status, began, why);
  }
  if (maybe_applied && nature != Nature::read) why.code = Errc::outcome_unknown;
  co_return why;
}

// A call that had little time says nothing about its member: pings do.
void Cluster::Impl::turn_from(const Members::SharedChannel& channel, const Status& status, base::Time began,
                              const Error& why) {
  if (verdict_of(status).next != Next::elsewhere) return;
  const Duration waited = runtime_.now() - began;
  const bool others = members->count() > 1 && waited >= shortest_patience;
  if (status.code != StatusCode::deadline_exceeded || others) return members->leave(channel, why);
  // The deadline was set before the question was asked.
  if (waited >= timeout_ - timeout_ / 10) channel->close_if_silent_since(began);
}

template <class Response, class Request>
awaitable<Result<Response>> Cluster::Impl::call(std::string_view path, Request request, Nature nature,
                                                Deadline deadline) {
  const auto self = shared_from_this();
  Result<std::string> bytes = co_await ask(path, request.SerializeAsString(), nature, deadline);
  if (!bytes) co_return bytes.error();
  Response response;
  if (!response.ParseFromString(*bytes)) {
    co_return Error{nature == Nature::write ? Errc::outcome_unknown : Errc::store_unavailable,
                    "the server's answer cannot be read"};
  }
  seen(response.header());
  co_return response;
}

bool Cluster::Impl::open(Role role) {
  Stream& stream = this->stream(role);
  const Members::SharedChannel channel = members->channel();
  if (stream.pipe) return true;
  if (!channel) return false;
  auto pipe = std::make_shared<Pipe>(weak_from_this(), role);
  const Channel::Token& token = members->token();
  const auto call = channel->begin(
      role == Role::watches ? "/etcdserverpb.Watch/Watch" : "/etcdserverpb.Lease/LeaseKeepAlive", token, pipe);
  if (!call) {  // it has no streams left
    members->leave(channel, Error{Errc::store_unavailable, channel->address().to_string() + ": no more streams"});
    return false;
  }
  stream = Stream{channel, *call, std::move(pipe), token};
  if (role == Role::watches) watches_.begin();
  return true;
}

void Cluster::Impl::close(Role role) {
  const Stream was = std::exchange(stream(role), {});
  if (!was.pipe) return;
  was.channel->cancel(was.call);
  if (role == Role::keepalives) fail_keepings();
}

void Cluster::Impl::took(Role role, const std::string& bytes) {
  if (role == Role::watches) {
    pb::WatchResponse response;
    if (response.ParseFromString(bytes)) take_watch(response);
  } else {
    pb::LeaseKeepAliveResponse response;
    if (response.ParseFromString(bytes)) take_keepalive(response);
  }
}

void Cluster::Impl::ended(Role role, const Status& status) {
  const Stream was = std::exchange(stream(role), {});
  if (role == Role::keepalives) fail_keepings();
  const Next next = verdict_of(status).next;
  if (next == Next::log_in) base::spawn(runtime_, log_in_and_open(shared_from_this(), was.token));
  if (next == Next::elsewhere) members->leave(was.channel, error_of(was.channel, status));
  open_soon();
}

// Servers end streams for their own reasons, and should not be asked at once again and again.
void Cluster::Impl::open_soon() { reopen_.set(base::after(runtime_.now(), pause_of_streams)); }

void Cluster::Impl::open_needed() {
  if (!watches_.empty()) push_watches();
}

// A watch stream keeps the token with which it was opened, so a new token needs a new stream.
awaitable<void> Cluster::Impl::log_in_and_open([[maybe_unused]] std::shared_ptr<Impl> self, Channel::Token refused) {
  if (std::exchange(logging_in_, true)) co_return;
  const Deadline deadline = Deadline::in(runtime_.now(), timeout_);
  Result<void> logged_in = co_await members->log_in_anew(refused, deadline);
  logging_in_ = false;
  if (!logged_in) {
    for (const WatchId id : watches_.refuse_doubted()) settle(id);
  } else if (watching_.pipe && watching_.token == refused) {
    close(Role::watches);
    open_needed();
  }
}

void Cluster::Impl::push_watches() {
  if (!open(Role::watches)) return;
  while (const auto request = watches_.next()) {
    watching_.channel->send(watching_.call, request->SerializeAsString());
  }
}

void Cluster::Impl::take_watch(const pb::WatchResponse& response) {
  seen(response.header());
  const auto self = shared_from_this();
  const Watches::Taken taken = watches_.take(response);
  for (const WatchId id : taken.settled) settle(id);
  if (taken.doubted) base::spawn(runtime_, log_in_and_open(self, watching_.token));
  if (watching_.pipe) push_watches();
}

void Cluster::Impl::settle(WatchId id) {
  const auto it = expecting_.find(id);
  if (it != expecting_.end()) it->second->notify();
}

Cluster::WatchId Cluster::Impl::watch(std::string key, std::string range_end, Watches::Hear hear) {
  const WatchId id = watches_.add(std::move(key), std::move(range_end), std::move(hear));
  push_watches();
  return id;
}

void Cluster::Impl::unwatch(WatchId id) {
  watches_.remove(id);
  settle(id);
  if (watching_.pipe) push_watches();
}

awaitable<Result<std::int64_t>> Cluster::Impl::watched_from(WatchId id, Deadline deadline) {
  const auto self = shared_from_this();
  for (;;) {
    Result<std::optional<std::int64_t>> made = watches_.made_from(id);
    if (!made) co_return made.error();
    if (*made) co_return **made;
    if (deadline.passed(runtime_.now()))
      co_return Error{Errc::store_unavailable, "the server did not make the watch in time"};
    if (over_) co_return Error{Errc::store_unavailable, "the connection is closed"};
    auto& gathering = expecting_[id];
    if (!gathering) gathering = std::make_shared<base::Gathering>(runtime_);
    const auto waiting = gathering;
    co_await waiting->wait(deadline.at);
    if (waiting.use_count() <= 2) expecting_.erase(id);
  }
}

awaitable<Result<Cluster::Kept>> Cluster::Impl::keep_alive(std::int64_t id, Deadline deadline) {
  const auto self = shared_from_this();
  Error why{Errc::store_unavailable, "there was no time left to ask"};
  while (!deadline.passed(runtime_.now())) {
    if (!open(Role::keepalives)) {
      Result<void> up = co_await members->ready(deadline);
      if (!up) co_return up.error();
      continue;
    }
    const Stream stream = keeping_;
    const auto keeping = std::make_shared<Keeping>(runtime_);
    keepings_[id].push_back(keeping);
    pb::LeaseKeepAliveRequest request;
    request.set_id(id);
    stream.channel->send(stream.call, request.SerializeAsString());
    const base::Time began = runtime_.now();
    const Deadline patient = patience(deadline);
    co_await keeping->wakeup.wait(patient.at);
    if (keeping->kept && keeping->kept->ttl <= 0) co_return Error{Errc::lost, "etcd knows of no such lease"};
    if (keeping->kept) co_return *keeping->kept;
    why.message = stream.channel->address().to_string() + ": the keepalive was not answered in time";
    if (keeping->broken) continue;
    turn_from(stream.channel, Status{StatusCode::deadline_exceeded, why.message}, began, why);
  }
  co_return why;
}

void Cluster::Impl::take_keepalive(const pb::LeaseKeepAliveResponse& response) {
  seen(response.header());
  const auto it = keepings_.find(response.id());
  if (it == keepings_.end()) return;
  const auto keeping = std::move(it->second.front());
  it->second.pop_front();
  if (it->second.empty()) keepings_.erase(it);
  keeping->kept = Kept{.ttl = response.ttl(), .raft_term = response.header().raft_term()};
  keeping->wakeup.notify();
}

void Cluster::Impl::fail_keepings() {
  for (const auto& [id, queue] : std::exchange(keepings_, {})) {
    for (const auto& keeping : queue) {
      keeping->broken = true;
      keeping->wakeup.notify();
    }
  }
}

Cluster::Cluster(base::Runtime& runtime, Config config) : impl_(std::make_shared<Impl>(runtime, std::move(config))) {}
// On the executor, whichever thread ends it.
Cluster::~Cluster() { Impl::end(impl_); }

void Cluster::start(Plan plan) { impl_->start(std::move(plan)); }
void Cluster::stop() { impl_->stop(); }
awaitable<Result<void>> Cluster::connect(Deadline deadline) { return impl_->members->ready(deadline); }

awaitable<Result<pb::TxnResponse>> Cluster::txn(pb::TxnRequest request, Deadline deadline) {
  const Nature nature = only_reads(request) ? Nature::read : Nature::write;
  return impl_->call<pb::TxnResponse>("/etcdserverpb.KV/Txn", std::move(request), nature, deadline);
}

awaitable<Result<pb::RangeResponse>> Cluster::range(pb::RangeRequest request, Deadline deadline) {
  return impl_->call<pb::RangeResponse>("/etcdserverpb.KV/Range", std::move(request), Nature::read, deadline);
}

awaitable<Result<std::int64_t>> Cluster::grant_lease(std::int64_t id, std::int64_t ttl_seconds, Deadline deadline) {
  const auto impl = impl_;
  pb::LeaseGrantRequest request;
  request.set_id(id);
  request.set_ttl(ttl_seconds);
  Result<pb::LeaseGrantResponse> answer = co_await impl->call<pb::LeaseGrantResponse>(
      "/etcdserverpb.Lease/LeaseGrant", std::move(request), Nature::repeatable, deadline);
  if (answer) co_return answer->ttl();
  if (answer.error().message.find("lease already exists") != std::string::npos) co_return ttl_seconds;
  co_return answer.error();
}

awaitable<Result<void>> Cluster::revoke_lease(std::int64_t id, Deadline deadline) {
  const auto impl = impl_;
  pb::LeaseRevokeRequest request;
  request.set_id(id);
  Result<pb::LeaseRevokeResponse> answer = co_await impl->call<pb::LeaseRevokeResponse>(
      "/etcdserverpb.Lease/LeaseRevoke", std::move(request), Nature::repeatable, deadline);
  if (!answer && answer.code() != Errc::lost) co_return answer.error();
  co_return Result<void>();
}

awaitable<Result<Cluster::Kept>> Cluster::keep_alive(std::int64_t id, Deadline deadline) {
  return impl_->keep_alive(id, deadline);
}
Cluster::WatchId Cluster::watch(std::string key, std::string range_end, std::function<void(const Heard&)> hear) {
  return impl_->watch(std::move(key), std::move(range_end), std::move(hear));
}
awaitable<Result<std::int64_t>> Cluster::watched_from(WatchId watch, Deadline deadline) {
  return impl_->watched_from(watch, deadline);
}
void Cluster::unwatch(WatchId watch) { impl_->unwatch(watch); }

}  // namespace pawl::store::etcd
