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
    : runtime_(runtime), config_(std::move(config)), layout_(config_.prefix, config_.raw_names) {}

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

awaitable<Result<pb::TxnResponse>> Server::write(pb::TxnRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  const Highest before = highest_;
  Result<pb::TxnResponse> answer = co_await cluster_->txn(std::move(request), deadline);
  if (!answer) co_return answer;
  const pb::ResponseHeader header = answer->header();
  const bool went_back = header.cluster_id() == before.cluster && header.revision() < before.revision;
  if (!went_back) {
    note(header);
    co_return answer;
  }
  // A snapshot was restored: what was granted since it was taken is unknown here, and its revisions come again.
  highest_ = {header.cluster_id(), header.revision()};
  Result<std::uint64_t> raised = co_await change_epoch(true, deadline);
  if (!raised) {
    highest_ = before;  // so that the next answer tells again
    co_return Error{Errc::outcome_unknown, raised.error().message};
  }
  end_all_sessions();
  co_return Error{Errc::outcome_unknown, "etcd was restored from a backup; the epoch was raised"};
}

awaitable<Result<pb::TxnResponse>> Server::read(pb::TxnRequest request, Deadline deadline) {
  const auto self = shared_from_this();
  Result<pb::TxnResponse> answer = co_await cluster_->txn(std::move(request), deadline);
  if (!answer) co_return not_applied(answer.error());
  co_return answer;
}

// The epoch.

void Server::require_epoch(pb::TxnRequest& txn) const { require_value(txn, layout_.epoch(), epoch_.text); }

awaitable<Result<void>> Server::learn_epoch(Deadline deadline) {
  Result<std::uint64_t> known = co_await change_epoch(false, deadline);
  if (!known) co_return known.error();
  co_return Result<void>();
}

awaitable<Result<std::uint64_t>> Server::change_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  for (int i = 0; i < epoch_attempts; ++i) {
    pb::TxnRequest question;
    on_success(question, getting(layout_.epoch()));
    Result<pb::TxnResponse> answer = co_await read(std::move(question), deadline);
    if (!answer) co_return answer.error();
    const pb::KeyValue* there = found_one(*answer, 0);
    const std::int64_t mod_revision = there == nullptr ? 0 : there->mod_revision();
    std::optional<fencing::EpochRecord> record;
    if (there != nullptr) {
      Result<fencing::EpochRecord> parsed = fencing::EpochRecord::parse(there->value());
      if (!parsed) co_return parsed.error();
      record = std::move(*parsed);
    }
    const std::uint64_t now = runtime_.unix_milliseconds();
    const std::uint64_t store_id = store_id_ != 0 ? store_id_.load() : runtime_.random();
    const std::string identity = base::hex(answer->header().cluster_id());
    Result<fencing::EpochDecision> decided = fencing::decide(record, identity, now, store_id);
    if (!decided) co_return decided.error();
    fencing::EpochRecord& next = decided->record;
    const bool went_back = next.epoch < epoch_.number;
    if (raise || went_back) {
      Result<std::uint64_t> number = fencing::next_epoch(std::max(next.epoch, epoch_.number), now);
      if (!number) co_return number.error();
      next.epoch = *number;
    }
    if (raise || went_back || decided->must_write) {
      pb::TxnRequest change;
      require_unchanged(change, layout_.epoch(), mod_revision);
      on_success(change, putting(layout_.epoch(), next.to_text(), 0));
      Result<pb::TxnResponse> changed = co_await cluster_->txn(std::move(change), deadline);
      if (!changed) co_return changed.error();
      if (!changed->succeeded()) continue;
    }
    epoch_ = {next.epoch, next.to_text()};
    store_id_ = next.store_id;
    co_return next.epoch;
  }
  co_return Error{Errc::store_unavailable, "the epoch keeps being changed"};
}

awaitable<Result<std::uint64_t>> Server::epoch(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> reached = co_await ready(deadline);
  if (!reached) co_return reached.error();
  co_return co_await change_epoch(false, deadline);
}

awaitable<Result<std::uint64_t>> Server::raise_epoch(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> reached = co_await ready(deadline);
  if (!reached) co_return reached.error();
  co_return co_await change_epoch(true, deadline);
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
  session->lease = fresh_lease_id();
  session->id = SessionId{runtime_.random(), static_cast<std::uint64_t>(session->lease)};
  session->key = layout_.session(session->lease);
  Result<std::int64_t> seconds = co_await cluster_->grant_lease(session->lease, whole_seconds(request.lease), deadline);
  if (!seconds) co_return seconds.error();
  session->seconds = *seconds;
  Result<void> made = co_await make_session_key(session, deadline);
  if (!made) co_return made.error();
  sessions_[session->id] = session;
  watch_mailbox(session);
  const Duration granted = std::chrono::seconds(session->seconds);
  co_return SessionGrant{session->id, std::min(request.lease, granted)};
}

awaitable<Result<void>> Server::make_session_key(SharedSession session, Deadline deadline) {
  pb::TxnRequest request;
  require_created(request, session->key, 0);
  on_success(request, putting(session->key, "", session->lease));
  on_failure(request, getting(session->key));
  Result<pb::TxnResponse> answer = co_await write(std::move(request), deadline);
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
    if (heard.what != Heard::What::put || heard.mod_revision <= session->heard) return;
    session->heard = heard.mod_revision;
    const std::optional<Letter> letter = Letter::parse(heard.value);
    if (letter && server->postman_) server->postman_(*session, letter);
  };
  session->mailbox = cluster_->watch(session->key, "", hear);
}

void Server::may_have_missed(Session& session) {
  if (postman_) postman_(session, std::nullopt);
}

/// Claims that were released since the snapshot was taken are there again, and nothing here knows of them: they go with
/// their sessions, whose leases nobody renews any more.
void Server::end_all_sessions() {
  const auto all = sessions_;
  for (const auto& [id, session] : all) over(*session);
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

void Server::over(Session& session) {
  if (session.mailbox != 0) cluster_->unwatch(std::exchange(session.mailbox, 0));
  sessions_.erase(session.id);
}

/// All leases of the session, its own last, so that the others outlast it. Answers whose word that was.
awaitable<Result<std::set<std::uint64_t>>> Server::keep_alive(SharedSession session, Deadline deadline) {
  std::set<std::uint64_t> terms;
  std::erase_if(session->second_leases, [](const auto& second) { return second.second.users.empty(); });
  std::vector<std::int64_t> leases;
  for (const auto& [seconds, second] : session->second_leases) leases.push_back(second.id);
  for (const std::int64_t lease : leases) {
    Result<Cluster::Kept> kept = co_await cluster_->keep_alive(lease, deadline);
    if (kept) terms.insert(kept->raft_term);
    if (kept) continue;
    if (kept.code() != Errc::lost) co_return not_applied(kept.error());
    // Revoked by hand, and the keys of its holds with it.
    std::erase_if(session->second_leases, [&](const auto& second) { return second.second.id == lease; });
    may_have_missed(*session);
  }
  Result<Cluster::Kept> kept = co_await cluster_->keep_alive(session->lease, deadline);
  if (!kept) co_return not_applied(kept.error());
  terms.insert(kept->raft_term);
  co_return terms;
}

// A leader that was deposed and does not know it answers keepalives as well. Only if it was still the leader when a later
// write went through, the lease is as long as it says.
awaitable<Result<Renewal>> Server::renew(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const SharedSession session = this->session(id);
  if (!session) co_return has_ended(id);
  for (int i = 0; i < renewal_attempts; ++i) {
    Result<std::set<std::uint64_t>> terms = co_await keep_alive(session, deadline);
    if (!terms) {
      if (terms.code() == Errc::lost) over(*session);
      co_return terms.error();
    }
    pb::TxnRequest request;
    require_created(request, session->key, session->created);
    on_success(request, erasing(layout_.nothing()));
    on_success(request, getting(session->key));
    on_failure(request, erasing(layout_.nothing()));
    Result<pb::TxnResponse> answer = co_await write(std::move(request), deadline);
    if (!answer) co_return not_applied(answer.error());
    if (!answer->succeeded()) {
      over(*session);
      co_return has_ended(id);
    }
    terms->insert(answer->header().raft_term());
    if (terms->size() > 1) continue;
    const pb::KeyValue* mail = found_one(*answer, 1);
    if (mail != nullptr && mail->mod_revision() > std::max(session->heard, session->missed)) {
      session->missed = mail->mod_revision();
      may_have_missed(*session);
    }
    co_return session->news.renewal();
  }
  co_return Error{Errc::store_unavailable, "the leader that has answered was deposed meanwhile"};
}

awaitable<Result<void>> Server::close_session(SessionId id, Deadline deadline) {
  const auto self = shared_from_this();
  const SharedSession session = this->session(id);
  if (!session) co_return Result<void>();
  Result<void> revoked = co_await cluster_->revoke_lease(session->lease, deadline);
  if (!revoked) co_return revoked.error();
  std::vector<std::int64_t> unused;
  for (const auto& [seconds, second] : session->second_leases) {
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
  const auto known = session->second_leases.find(seconds);
  if (known != session->second_leases.end()) {
    known->second.users.insert(claim);
    co_return known->second.id;
  }
  const std::int64_t id = fresh_lease_id();
  const std::int64_t length = session->seconds + seconds + slack;
  Result<std::int64_t> granted = co_await cluster_->grant_lease(id, length, deadline);
  if (!granted)
    co_return not_applied(granted.error());  // whether there is one more lease that runs out changes nothing
  // Another claim may have been faster.
  Session::SecondLease& second = session->second_leases[seconds];
  if (second.id == 0) second.id = id;
  second.users.insert(claim);
  co_return second.id;
}

void Server::leave_second_lease(Session& session, ClaimId claim) {
  for (auto& [seconds, second] : session.second_leases) second.users.erase(claim);
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
