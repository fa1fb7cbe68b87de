// Who is before a claim: found, watched, and waited for, also where it has failed.

#include "store/etcd/queue.hpp"
#include "store/etcd/requests.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr int most_asked = 100;  // keys of one transaction; the servers allow 128 parts
constexpr Duration remembered = std::chrono::minutes(5);

}  // namespace

/// The last one before it; those before that one are found when it is gone.
awaitable<Queue::Step> Queue::list_line(SharedClaimant claimant, Deadline deadline) {
  const Claim& claim = claimant->claim;
  const std::string folder = layout().folder(claim.key);
  pb::RequestOp last = listing(blocking(folder, claim.mode));
  last.mutable_request_range()->set_sort_order(pb::RangeRequest::DESCEND);
  last.mutable_request_range()->set_limit(1);
  last.mutable_request_range()->set_max_create_revision(claimant->created - 1);
  pb::TxnRequest question;
  on_success(question, getting(claimant->session->key));
  on_success(question, getting(claimant->key));
  on_success(question, std::move(last));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  if (found_one(*answer, 0) == nullptr) co_return session_over(*claimant->session);
  const pb::KeyValue* own = found_one(*answer, 1);
  if (own == nullptr || own->create_revision() != claimant->created) {
    claimant->line.taken_away();
    co_return taken_away();
  }
  Line::Keys before;
  const pb::KeyValue* kv = found_one(*answer, 2);
  // A writer that was downgraded is before all other writers: behind it a reader waits for none.
  if (kv != nullptr && blocks(see(*kv, folder, claim.key.kind), claimant->waiter())) before.push_back(kv->key());
  const bool all = before.empty();
  claimant->line.listed(std::move(before), all);
  co_return std::optional<Waiting>();
}

awaitable<Result<Queue::Look>> Queue::look_at(LockKey lock, std::string key, std::string own, Deadline deadline) {
  const std::string folder = layout().folder(lock);
  const bool in_folder = key.starts_with(folder);
  const std::optional<KeyOwner> owner =
      in_folder ? owner_of_key(std::string_view(key).substr(folder.size())) : std::nullopt;
  pb::TxnRequest question;
  on_success(question, getting(key));
  on_success(question, getting(own));
  if (owner) on_success(question, getting(layout().session(owner->lease)));
  const bool candidate = owner && lock.kind == Kind::election;
  if (candidate) on_success(question, getting(layout().candidate(lock, owner->claim)));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  Look look;
  look.revision = answer->header().revision();
  const pb::KeyValue* its_own = found_one(*answer, 1);
  if (its_own != nullptr) look.own = its_own->create_revision();
  const pb::KeyValue* kv = found_one(*answer, 0);
  if (kv == nullptr) co_return look;
  look.seen = see(*kv, folder, lock.kind);
  const pb::KeyValue* record = candidate ? found_one(*answer, 3) : nullptr;
  if (record != nullptr) {
    look.seen->record = Record::parse(record->value());
    look.seen->record_changed = record->mod_revision();
  }
  const bool alone = look.seen->outlasts_session() && found_one(*answer, 2) == nullptr;
  if (alone) look.seen->record->stage = Record::Stage::failed;
  co_return look;
}

/// Everything behind that revision is heard. A watch that was refused is asked for anew by the next try: rights come back.
awaitable<Result<std::int64_t>> Queue::hears_from(SharedClaimant claimant, std::string key, Deadline deadline) {
  const auto watch = claimant->watches.find(key);
  if (watch == claimant->watches.end()) co_return Error{Errc::cancelled, "the watch was ended"};
  Result<std::int64_t> from = co_await server_->cluster().watched_from(watch->second, deadline);
  if (from.code() == Errc::permission_denied) claimants_->listen_only_to(*claimant, {});
  co_return from;
}

/// Watched before it is looked at, so that its end is seen, whenever that is.
awaitable<Queue::Step> Queue::watch_last(SharedClaimant claimant, Deadline deadline) {
  const std::string last = claimant->line.last();
  claimants_->listen(claimant, last);
  std::vector<std::string> heard{last};
  for (int i = 0; i < attempts && claimant->line.next() == Line::Step::watch; ++i) {
    Result<Look> look = co_await look_at(claimant->claim.key, last, claimant->key, deadline);
    if (!look) co_return look.error();
    if (look->own != claimant->created) co_return co_await list_line(claimant, deadline);  // which tells why
    Result<std::int64_t> from = co_await hears_from(claimant, heard.back(), deadline);
    if (from.code() == Errc::cancelled) co_return std::optional<Waiting>();  // heard of it meanwhile
    if (!from) co_return Error{Errc::store_unavailable, from.error().message};
    if (look->revision < *from) continue;
    const bool before = look->seen && look->seen->created < claimant->created;
    if (!before || !blocks(*look->seen, claimant->waiter())) {
      claimant->line.watched(Line::Seen::gone);
      co_return std::optional<Waiting>();
    }
    const Seen& seen = *look->seen;
    const bool alone = !seen.waits() && seen.mode() == Mode::exclusive;
    if (seen.failed()) {
      Waiting shut{at_the_latest};
      shut.shut_for = shut_for(seen);
      shut.look_again_in = std::min(shut.shut_for, at_the_latest);
      if (shut.shut_for > Duration::zero()) {
        claimant->line.watched(Line::Seen::there);
        co_return std::optional<Waiting>(std::move(shut));
      }
      Result<bool> laid = co_await lay(claimant->claim.key, seen, deadline);
      if (!laid) co_return laid.error();
      if (!*laid) continue;
      claimant->line.watched(alone ? Line::Seen::holding : Line::Seen::gone);
      if (alone) claimant->line.left(true);
      co_return std::optional<Waiting>();
    }
    if (seen.outlasts_session() && heard.size() == 1) {
      heard.push_back(layout().session(seen.owner->lease));
      claimants_->listen(claimant, heard.back());
      continue;
    }
    claimant->line.watched(alone ? Line::Seen::holding : Line::Seen::there);
  }
  claimants_->listen_only_to(*claimant, heard);
  co_return std::optional<Waiting>();
}

// Those who have failed, and their delay.

/// A key on a second lease may be there longer than its session.
awaitable<Result<Queue::SeenLine>> Queue::tell_failed(SeenLine line, Deadline deadline) {
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].holds() && line[i].outlasts_session()) doubtful.push_back(i);
  }
  for (std::size_t begin = 0; begin < doubtful.size(); begin += most_asked) {
    const std::size_t end = std::min(begin + most_asked, doubtful.size());
    pb::TxnRequest question;
    for (std::size_t i = begin; i < end; ++i) {
      on_success(question, getting(layout().session(line[doubtful[i]].owner->lease)));
    }
    Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
    if (!answer) co_return answer.error();
    for (std::size_t i = begin; i < end; ++i) {
      const bool alive = found_one(*answer, static_cast<int>(i - begin)) != nullptr;
      if (!alive) line[doubtful[i]].record->stage = Record::Stage::failed;
    }
  }
  co_return line;
}

/// How long it is still in the way. Its time begins when we first know: nobody can tell when it has failed.
Duration Queue::shut_for(const Seen& failed) {
  const base::Time now = server_->runtime().now();
  std::erase_if(failed_since_, [&](const auto& known) { return base::after(known.second, remembered) < now; });
  failed_since_.try_emplace({failed.key, failed.created}, now);
  return std::as_const(*this).shut_for(failed);
}

Duration Queue::shut_for(const Seen& failed) const {
  const base::Time now = server_->runtime().now();
  const auto since = failed_since_.find({failed.key, failed.created});
  const base::Time until = base::after(since == failed_since_.end() ? now : since->second, failed.record->lock_delay);
  return std::max(until - now, Duration::zero());
}

/// Its time is over. False: it has changed meanwhile.
awaitable<Result<bool>> Queue::lay(LockKey lock, Seen failed, Deadline deadline) {
  pb::TxnRequest request;
  require_created(request, failed.key, failed.created);
  on_success(request, erasing(failed.key));
  if (lock.kind == Kind::election) on_success(request, erasing(layout().candidate(lock, failed.id())));
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) co_return answer.error();
  failed_since_.erase({failed.key, failed.created});
  co_return answer->succeeded();
}

}  // namespace pawl::store::etcd
