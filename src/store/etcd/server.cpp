#include "store/etcd/server.hpp"

#include "base/escaped.hpp"
#include "fencing/epoch.hpp"
#include "store/etcd/requests.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr int epoch_attempts = 4;    // at something that others may undo meanwhile
constexpr int renewal_attempts = 3;  // while the cluster changes its leader
constexpr int read_attempts = 4;     // while a member answers with old data
constexpr std::int64_t shortest_ttl = 2;
constexpr std::int64_t slack = 1;  // seconds by which a second lease may be renewed before its session's
constexpr std::int64_t history_seconds = 120;

std::int64_t whole_seconds(Duration duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  return std::max<std::int64_t>(seconds, shortest_ttl);
}

Error has_ended(SessionId id) { return {Errc::lost, "session " + to_string(id) + " has ended"}; }

/// Of a request that is made again and again until it succeeds, or that changes nothing.
Error not_applied(Error error) {
  if (error.code == Errc::outcome_unknown) error.code = Errc::store_unavailable;
  return error;
}

}  // namespace

Server::Server(base::Runtime& runtime, Config config)
    : runtime_(runtime), config_(std::move(config)), layout_(config_.prefix, config_.raw_names), restored_(runtime) {}

Server::~Server() {
  base::or_out_of_memory([this] {
    if (base::fork_generation() != generation_) {
      // The parent's: to end a socket here takes it off the epoll that both have.
      [[maybe_unused]] const auto* kept = new std::shared_ptr<Cluster>(std::move(cluster_));
      return;
    }
    if (runtime_.inert() || !cluster_) return;
    runtime_.send([cluster = std::move(cluster_)] { cluster->stop(); });
  });
}

void Server::attach(Surroundings surroundings) {
  config_.timeout = surroundings.timeout;
  surroundings_ = std::move(surroundings);
}

awaitable<Result<void>> Server::connect(Deadline deadline) {
  const auto self = shared_from_this();
  if (!cluster_) {
    cluster_ = std::make_shared<Cluster>(runtime_, config_);
    Cluster::Plan plan;
    plan.seen = [weak = weak_from_this()](const pb::ResponseHeader& header) {
      if (const auto server = weak.lock()) server->note(header);
    };
    plan.up = [weak = weak_from_this()] {
      if (const auto server = weak.lock()) base::spawn(server->runtime_, server->look_whether_restored(server));
    };
    plan.down = surroundings_.reconnecting;
    plan.credentials = surroundings_.credentials;
    cluster_->start(std::move(plan));
  }
  Result<void> reached = co_await cluster_->connect(deadline);
  if (reached) reached = co_await learn_epoch(deadline);
  co_return reached;
}

awaitable<Result<void>> Server::ready(Deadline deadline) {
  const auto self = shared_from_this();
  if (!epoch_.text.empty()) co_return Result<void>();
  co_return co_await connect(deadline);
}

void Server::note(const pb::ResponseHeader& header) {
  if (header.cluster_id() != highest_.cluster) highest_ = {header.cluster_id(), 0};
  highest_.revision = std::max(highest_.revision, header.revision());
}

bool Server::is_behind(const pb::ResponseHeader& header, const Highest& highest) {
  return header.cluster_id() == highest.cluster && header.revision() < highest.revision;
}

/// Errors: outcome_unknown, where the store was restored from a backup.
awaitable<Result<pb::TxnResponse>> Server::ask(pb::TxnRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  const bool reads = only_reads(request);
  for (int i = 0; i < read_attempts; ++i) {
    const Before before = this->before();
    pb::TxnRequest question = request;
    Result<pb::TxnResponse> answer = co_await cluster_->txn(std::move(question), deadline);
    if (!answer) co_return answer;
    const pb::ResponseHeader header = answer->header();
    // By the cluster of the epoch: a keepalive or a watch may have told of the new one before.
    const bool moved = epoch_.cluster != 0 && header.cluster_id() != epoch_.cluster;
    if (before.restores == restores_ && !moved && !is_behind(header, before.highest)) co_return answer;
    const Change change = reads && !moved ? Change::restored_perhaps : Change::restored;
    Result<void> begun = co_await begin_anew(change, before.restores, deadline);
    if (!begun) co_return Error{Errc::outcome_unknown, begun.error().message};
    if (!reads || before.restores != restores_) {
      co_return Error{Errc::outcome_unknown, "etcd was restored from a backup; the epoch was raised"};
    }
  }
  co_return Error{Errc::store_unavailable, "etcd keeps answering reads with old data"};
}

awaitable<Result<pb::TxnResponse>> Server::write(pb::TxnRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  std::set<std::int64_t> leases = leases_of(request);
  Result<pb::TxnResponse> answer = co_await ask(std::move(request), deadline);
  if (answer || answer.code() != Errc::lost) co_return answer;
  // Not the session's: without its key, nothing would have been put on its lease.
  a_lease_is_gone(std::move(leases));
  co_return Error{Errc::store_unavailable, answer.error().message};
}

awaitable<Result<pb::TxnResponse>> Server::read(pb::TxnRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  Result<pb::TxnResponse> answer = co_await ask(std::move(request), deadline);
  if (!answer) co_return not_applied(answer.error());
  co_return answer;
}

/// A snapshot was restored: what was granted since it was taken is unknown here, and its revisions come again. Until the
/// epoch is raised, every answer is taken for one that is behind. Requests that find out at the same time raise it once.
/// `restored_perhaps`: a read was behind, which may have been stale (etcd#20418). If so, `restores_` stays as it is.
awaitable<Result<void>> Server::begin_anew(Change change, std::uint64_t restores, Deadline deadline) {
  const auto self = shared_from_this();
  while (restoring_ && restores_ == restores && !deadline.passed(runtime_.now())) co_await restored_.wait(deadline.at);
  if (restores_ != restores) co_return Result<void>();
  if (restoring_) co_return Error{Errc::store_unavailable, "the epoch was not raised in time"};
  restoring_ = true;
  Result<std::uint64_t> raised = co_await change_epoch(change, deadline);
  restoring_ = false;
  restored_.notify();
  if (!raised) co_return raised.error();
  co_return Result<void>();
}

/// Whoever knows the higher revision must tell the others, who cannot know, before they are granted what it holds.
awaitable<void> Server::look_whether_restored([[maybe_unused]] std::shared_ptr<Server> self) {
  if (epoch_.text.empty()) co_return;
  const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
  [[maybe_unused]] const Result<void> known = co_await learn_epoch(deadline);
}

// The epoch.

void Server::require_epoch(pb::TxnRequest& txn) const { require_value(txn, layout_.epoch(), epoch_.text); }

awaitable<Result<void>> Server::learn_epoch(Deadline deadline) {
  Result<std::uint64_t> known = co_await change_epoch(Change::learn, deadline);
  if (!known) co_return known.error();
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Server::change_epoch(Change change, Deadline deadline) {
  const auto self = shared_from_this();
  const bool restored = change == Change::restored || change == Change::restored_perhaps;
  for (int i = 0; i < epoch_attempts; ++i) {
    const Before before = this->before();
    pb::TxnRequest question;
    on_success(question, getting(layout_.epoch()));
    if (restored) on_success(question, erasing(layout_.nothing()));  // a write: its reply is never stale
    Result<pb::TxnResponse> answer = co_await cluster_->txn(std::move(question), deadline);
    if (!answer) co_return not_applied(answer.error());
    pb::ResponseHeader header = answer->header();
    const pb::KeyValue* there = found_one(*answer, 0);
    const std::int64_t mod_revision = there == nullptr ? 0 : there->mod_revision();
    std::optional<fencing::EpochRecord> record;
    if (there != nullptr) {
      Result<fencing::EpochRecord> parsed = fencing::EpochRecord::parse(there->value());
      if (!parsed) co_return parsed.error();
      record = std::move(*parsed);
    }
    const bool moved = epoch_.cluster != 0 && header.cluster_id() != epoch_.cluster;
    const bool fell = record && record->epoch < epoch_.number;
    const bool unexpected = moved || fell || is_behind(header, before.highest) || before.restores != restores_;
    if (unexpected && !restored) {
      Result<void> begun = co_await begin_anew(Change::restored_perhaps, before.restores, deadline);
      if (!begun) co_return begun.error();
      continue;
    }
    if (!unexpected && change == Change::restored_perhaps) co_return epoch_.number;
    const std::uint64_t now = runtime_.unix_milliseconds();
    const std::uint64_t store_id = store_id_ != 0 ? store_id_.load() : runtime_.random();
    const std::string identity = base::hex(header.cluster_id());
    Result<fencing::EpochDecision> decided = fencing::decide(record, identity, now, store_id);
    if (!decided) co_return decided.error();
    fencing::EpochRecord& next = decided->record;
    // In a cluster of another id the first one to come has raised it: the record in the snapshot names the old one.
    const bool raise = change == Change::raise || (restored && !moved);
    const bool went_back = next.epoch < epoch_.number;
    if (raise || went_back) {
      Result<std::uint64_t> number = fencing::next_epoch(std::max(next.epoch, epoch_.number), now);
      if (!number) co_return number.error();
      next.epoch = *number;
    }
    if (raise || went_back || decided->must_write) {
      pb::TxnRequest request;
      require_unchanged(request, layout_.epoch(), mod_revision);
      on_success(request, putting(layout_.epoch(), next.to_text(), 0));
      Result<pb::TxnResponse> changed = co_await cluster_->txn(std::move(request), deadline);
      if (!changed) co_return changed.error();
      if (!changed->succeeded() || before.restores != restores_) continue;
      header = changed->header();
    }
    epoch_ = {next.epoch, next.to_text(), header.cluster_id()};
    store_id_ = next.store_id;
    if (restored) {
      ++restores_;
      highest_ = {header.cluster_id(), header.revision()};
      end_all_sessions();
    }
    co_return next.epoch;
  }
  co_return Error{Errc::store_unavailable, "the epoch keeps being changed"};
}

awaitable<Result<std::uint64_t>> Server::epoch(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> reached = co_await ready(deadline);
  if (!reached) co_return reached.error();
  co_return co_await change_epoch(Change::learn, deadline);
}

awaitable<Result<std::uint64_t>> Server::raise_epoch(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> reached = co_await ready(deadline);
  if (!reached) co_return reached.error();
  co_return co_await change_epoch(Change::raise, deadline);
}

// Sessions.

std::int64_t Server::fresh_lease_id() { return static_cast<std::int64_t>(runtime_.random() >> 1) | 1; }

SharedSession Server::session(SessionId id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

awaitable<Result<SessionGrant>> Server::open_session(SessionRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> reached = co_await ready(deadline);
  if (!reached) co_return reached.error();
  const auto session = std::make_shared<Session>();
  session->owner = request.owner;
  Result<void> made = co_await make_session(session, request.lease, deadline);
  // A short lease runs out between the two requests if this process or the server is stopped.
  while (made.code() == Errc::lost && !deadline.passed(runtime_.now())) {
    made = co_await make_session(session, request.lease, deadline);
  }
  if (!made) co_return made.code() == Errc::lost ? Error{Errc::store_unavailable, made.error().message} : made.error();
  sessions_[session->id] = session;
  watch_mailbox(session);
  const Duration granted = std::chrono::seconds(session->seconds);
  co_return SessionGrant{session->id, std::min(request.lease, granted)};
}

/// Errors: lost, where the lease was over before the key was written.
awaitable<Result<void>> Server::make_session(SharedSession session, Duration lease, Deadline deadline) {
  const auto self = shared_from_this();
  session->lease = fresh_lease_id();
  session->id = SessionId{runtime_.random(), static_cast<std::uint64_t>(session->lease)};
  session->key = layout_.session(session->lease);
  Result<std::int64_t> seconds = co_await cluster_->grant_lease(session->lease, whole_seconds(lease), deadline);
  if (!seconds) co_return seconds.error();
  session->seconds = *seconds;
  Result<void> made = co_await make_session_key(session, deadline);
  if (!made) revoke_soon(session->lease);
  co_return made;
}

awaitable<Result<void>> Server::make_session_key(SharedSession session, Deadline deadline) {
  pb::TxnRequest request;
  require_created(request, session->key, 0);
  on_success(request, putting(session->key, "", session->lease));
  on_failure(request, getting(session->key));
  Result<pb::TxnResponse> answer = co_await ask(std::move(request), deadline);
  if (!answer) co_return answer.error();
  const pb::KeyValue* there = answer->succeeded() ? nullptr : found_one(*answer, 0);
  session->created = there == nullptr ? answer->header().revision() : there->create_revision();
  session->heard = session->created;
  co_return Result<void>();
}

void Server::watch_mailbox(const SharedSession& session) {
  const auto hear = [weak = weak_from_this(), id = session->id](const Heard& heard) {
    const auto server = weak.lock();
    const SharedSession session = server ? server->session(id) : nullptr;
    if (!session) return;
    if (heard.what == Heard::What::missed) return server->may_have_missed(*session);
    if (heard.what == Heard::What::deleted) return server->key_deleted(*session, heard.mod_revision);
    if (heard.mod_revision <= session->heard) return;
    session->heard = heard.mod_revision;
    const std::optional<Letter> letter = Letter::parse(heard.value);
    if (letter && server->postman_) server->postman_(*session, letter);
  };
  session->mailbox = cluster_->watch(session->key, "", hear);
}

/// By hand, or with its lease. The next claim may be granted already: this does not wait for the next renewal.
void Server::key_deleted(Session& session, std::int64_t revision) {
  if (session.closing || revision <= session.created) return;
  over(session);
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

void Server::may_have_missed(Session& session) {
  if (postman_) postman_(session, std::nullopt);
}

/// Claims that were released since the snapshot was taken are there again, and nothing here knows of them: they go with
/// their sessions, whose leases nobody renews any more.
void Server::end_all_sessions() {
  const auto all = sessions_;
  for (const auto& [id, session] : all) over(*session);
  history_ = {};
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

void Server::over(Session& session) {
  if (session.mailbox != 0) cluster_->unwatch(std::exchange(session.mailbox, 0));
  sessions_.erase(session.id);
}

/// All leases of the session, its own last, so that the others outlast it.
awaitable<Result<Server::Kept>> Server::keep_alive(SharedSession session, Deadline deadline) {
  Kept all;
  std::vector<std::int64_t> leases;
  for (const Session::SecondLease& second : session->second_leases) leases.push_back(second.id);
  for (const std::int64_t lease : leases) {
    Result<Cluster::Kept> kept = co_await cluster_->keep_alive(lease, deadline);
    if (!kept && kept.code() != Errc::lost) co_return not_applied(kept.error());
    for (Session::SecondLease& second : session->second_leases) {
      if (second.id == lease) second.doubted = second.gone || !kept;
    }
    if (kept) all.terms.insert(kept->raft_term);
    if (!kept) all.missing.insert(lease);
  }
  Result<Cluster::Kept> kept = co_await cluster_->keep_alive(session->lease, deadline);
  if (!kept && kept.code() != Errc::lost) co_return not_applied(kept.error());
  if (kept) all.terms.insert(kept->raft_term);
  all.session_missing = !kept;
  co_return all;
}

// A leader that was deposed and does not know it answers keepalives as well. Only if it was still the leader when a later
// write went through, the lease is as long as it says. A new leader may say that there is no such lease, since it has not
// heard of it yet: that write knows, for a lease takes its keys along.
awaitable<Result<Renewal>> Server::renew(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const SharedSession session = this->session(id);
  if (!session) co_return has_ended(id);
  drop_unused_leases(*session);
  for (int left = renewal_attempts; left > 0; --left) {
    Result<Kept> kept = co_await keep_alive(session, deadline);
    if (!kept) co_return kept.error();
    pb::TxnRequest request;
    require_created(request, session->key, session->created);
    on_success(request, erasing(layout_.nothing()));
    on_success(request, getting(session->key));
    on_failure(request, erasing(layout_.nothing()));
    Result<pb::TxnResponse> answer = co_await write(std::move(request), deadline);
    if (!answer) co_return not_applied(answer.error());
    if (!answer->succeeded()) over(*session);
    const bool ended = this->session(id) == nullptr;  // or meanwhile, by a restore that another request has noticed
    if (ended) co_return has_ended(id);
    kept->terms.insert(answer->header().raft_term());
    const bool again = left > 1 && !kept->missing.empty();
    if (kept->terms.size() > 1 || kept->session_missing || again) continue;
    const pb::KeyValue* mail = found_one(*answer, 1);
    if (mail != nullptr && mail->mod_revision() > std::max(session->heard, session->missed)) {
      session->missed = mail->mod_revision();
      may_have_missed(*session);
    }
    if (when_renewed_) when_renewed_(session);
    co_return renewed(*session, *kept);
  }
  co_return Error{Errc::store_unavailable, "the leader that answered was deposed, or has just been elected"};
}

/// Holds on a second lease that was not renewed are lost. Their keys may be there still: it is asked for until they have left.
Renewal Server::renewed(Session& session, const Kept& kept) {
  if (!kept.missing.empty()) may_have_missed(session);
  Renewal renewal = session.news.renewal();
  for (const Session::SecondLease& second : session.second_leases) {
    if (!kept.missing.contains(second.id)) continue;
    renewal.unconfirmed.insert(renewal.unconfirmed.end(), second.users.begin(), second.users.end());
  }
  return renewal;
}

void Server::drop_unused_leases(Session& session) {
  std::erase_if(session.second_leases, [this](const Session::SecondLease& second) {
    if (second.users.empty()) revoke_soon(second.id);
    return second.users.empty();
  });
}

/// One of those, and it is not a session's own.
void Server::a_lease_is_gone(std::set<std::int64_t> named) {
  for (const auto& [id, session] : sessions_) named.erase(session->lease);
  if (named.contains(history_.lease)) history_ = {};
  for (const auto& [id, session] : sessions_) {
    for (Session::SecondLease& second : session->second_leases) {
      if (!named.contains(second.id)) continue;
      second.doubted = true;
      second.gone = named.size() == 1;
    }
  }
}

// It would run out by itself: nobody waits for this.
void Server::revoke_soon(std::int64_t lease) { base::spawn(runtime_, revoke(shared_from_this(), lease)); }

awaitable<void> Server::revoke([[maybe_unused]] std::shared_ptr<Server> self, std::int64_t lease) {
  const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
  [[maybe_unused]] const Result<void> gone = co_await cluster_->revoke_lease(lease, deadline);
}

awaitable<Result<void>> Server::close_session(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const SharedSession session = this->session(id);
  if (!session) co_return Result<void>();
  session->closing = true;
  Result<void> revoked = co_await cluster_->revoke_lease(session->lease, deadline);
  if (!revoked) co_return revoked.error();
  std::vector<std::int64_t> unused;
  for (const Session::SecondLease& second : session->second_leases) {
    if (second.users.empty()) unused.push_back(second.id);  // the others run out: their holds were not released
  }
  over(*session);
  for (const std::int64_t lease : unused) {
    [[maybe_unused]] const Result<void> gone = co_await cluster_->revoke_lease(lease, deadline);
  }
  co_return Result<void>();
}

// Leases beside that of a session.

awaitable<Result<std::int64_t>> Server::second_lease(SharedSession session, Duration delay, ClaimId claim,
                                                     Deadline deadline) {
  const auto self = shared_from_this();
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(delay).count();
  const auto known = [&] {
    auto& all = session->second_leases;
    return std::find_if(all.begin(), all.end(), [seconds](const Session::SecondLease& second) {
      return second.seconds == seconds && !second.doubted;
    });
  };
  if (known() == session->second_leases.end()) {
    const std::int64_t id = fresh_lease_id();
    const std::int64_t length = session->seconds + seconds + slack;
    Result<std::int64_t> granted = co_await cluster_->grant_lease(id, length, deadline);
    if (!granted)
      co_return not_applied(granted.error());  // whether there is one more lease that runs out changes nothing
    const bool faster = known() != session->second_leases.end();  // another claim
    if (faster) revoke_soon(id);
    if (!faster) session->second_leases.push_back({.id = id, .seconds = seconds});
  }
  for (Session::SecondLease& second : session->second_leases) {
    if (second.gone) second.users.erase(claim);  // it has no key on that one
  }
  known()->users.insert(claim);
  co_return known()->id;
}

void Server::leave_second_lease(Session& session, ClaimId claim) {
  for (Session::SecondLease& second : session.second_leases) second.users.erase(claim);
}

awaitable<Result<std::int64_t>> Server::last_lease(Duration length, Deadline deadline) {
  const auto self = shared_from_this();
  const std::int64_t id = fresh_lease_id();
  Result<std::int64_t> granted = co_await cluster_->grant_lease(id, whole_seconds(length), deadline);
  if (!granted) co_return not_applied(granted.error());
  co_return id;
}

awaitable<Result<std::int64_t>> Server::history_lease(Deadline deadline) {
  const auto self = shared_from_this();
  const base::Time now = runtime_.now();
  if (history_.lease != 0 && now < history_.fresh_until) co_return history_.lease;
  const std::chrono::seconds length(history_seconds);
  Result<std::int64_t> lease = co_await last_lease(length, deadline);
  if (!lease) co_return lease;
  history_ = {*lease, base::after(now, length / 2)};
  co_return *lease;
}

}  // namespace pawl::store::etcd
