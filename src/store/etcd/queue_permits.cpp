// Permits: whoever is first among those who wait takes its slots as soon as there are enough.

#include "store/etcd/queue.hpp"
#include "store/etcd/requests.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

/// All who use them. Those who have failed, and whose delay is over, are removed first.
awaitable<Result<Queue::Permits>> Queue::look_at_permits(SharedClaimant claimant, Deadline deadline) {
  const LockKey lock = claimant->claim.key;
  Permits permits;
  permits.changes_in = at_the_latest;
  pb::TxnRequest question;
  on_success(question, listing(all_in(layout().folder(lock))));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  permits.revision = answer->header().revision();
  SeenLine line = line_of(lock, *answer, 0, 1);
  Result<SeenLine> told = co_await tell_failed(std::move(line), deadline);
  if (!told) co_return told.error();
  for (Seen& seen : *told) {
    if (!seen.failed()) {
      permits.all.push_back(std::move(seen));
      continue;
    }
    const Duration shut = shut_for(seen);
    if (shut > Duration::zero()) {
      permits.changes_in = std::min(permits.changes_in, shut);
      permits.all.push_back(std::move(seen));
      continue;
    }
    Result<bool> laid = co_await lay(lock, seen, deadline);
    if (!laid) co_return laid.error();
  }
  permits.room = room_in(permits.all, claimant->claim.permits, claimant->created);
  if (auto sound = check_sound(claimant->claim, permits.room.agreed); !sound) co_return sound.error();
  co_return permits;
}

awaitable<Queue::Step> Queue::join_permits(SharedClaimant claimant, Deadline deadline) {
  const Claim& claim = claimant->claim;
  claimant->created = 0;
  claimant->grant.slots.clear();
  Result<Permits> permits = co_await look_at_permits(claimant, deadline);
  if (!permits) co_return permits.error();
  const bool free = permits->room.before.empty() && !permits->room.slots.empty();
  // Then the answer to the request that has made it was lost: the one below finds that out.
  const bool own_is_there = std::any_of(permits->all.begin(), permits->all.end(),
                                        [&](const Seen& seen) { return seen.key == claimant->key; });
  if (!free && !claim.may_queue && !own_is_there) {
    Waiting waiting{permits->changes_in};
    waiting.permits = permits->room.used;
    const auto holder =
        std::find_if(permits->all.begin(), permits->all.end(), [](const Seen& seen) { return seen.holds(); });
    if (holder != permits->all.end()) waiting.holder = owner_of(*holder);
    co_return std::optional<Waiting>(std::move(waiting));
  }
  std::int64_t lease = claimant->session->lease;
  if (free) {
    Result<std::int64_t> holding = co_await lease_to_hold(claimant, deadline);
    if (!holding) co_return holding.error();
    lease = *holding;
    claimant->grant.slots = permits->room.slots;
  }
  const std::uint64_t epoch = server_->known_epoch();
  pb::TxnRequest request;
  require_usable(request, *claimant);
  // Others may only have left since we have looked.
  if (free) require_none_newer(request, all_in(layout().folder(claim.key)), permits->revision);
  const Record record = record_of(*claimant, free ? Record::Stage::held : Record::Stage::waiting);
  on_success(request, putting(claimant->key, record.to_text(), lease));
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) {
    if (answer.code() == Errc::outcome_unknown) claimant->line.creation_unknown();
    co_return answer.error();
  }
  if (!answer->succeeded()) {
    Result<void> understood = co_await understand(claimant, std::move(*answer), false, deadline);
    if (!understood) co_return understood.error();
    co_return std::optional<Waiting>();
  }
  claimant->created = claimant->changed = answer->header().revision();
  claimant->grant.token = Token(epoch, static_cast<std::uint64_t>(claimant->created));
  claimant->line.created({}, free);
  if (free) claimant->line.taken();
  co_return std::optional<Waiting>();
}

awaitable<Queue::Step> Queue::list_permits(SharedClaimant claimant, Deadline deadline) {
  Result<Permits> permits = co_await look_at_permits(claimant, deadline);
  if (!permits) co_return permits.error();
  Line::Keys before;
  if (!permits->room.before.empty()) before.push_back(permits->room.before.back());
  const bool all = before.empty();
  claimant->line.listed(std::move(before), all);
  co_return std::optional<Waiting>();
}

/// First among those who wait.
awaitable<Queue::Step> Queue::take_permits(SharedClaimant claimant, Deadline deadline) {
  const KeyRange line = all_in(layout().folder(claimant->claim.key));
  claimants_->listen(claimant, line.begin, line.end);
  Result<std::int64_t> from = co_await hears_from(claimant, line.begin, deadline);
  std::vector<std::string> heard{line.begin};
  Result<Permits> permits = co_await look_at_permits(claimant, deadline);
  if (!permits) co_return permits.error();  // where we may not watch, this tells why
  if (!from) co_return Error{Errc::store_unavailable, from.error().message};
  bool more = permits->revision < *from;
  for (const Seen& seen : permits->all) {
    if (!seen.holds() || !seen.outlasts_session()) continue;
    heard.push_back(layout().session(seen.owner->lease));
    more = more || !claimant->watches.contains(heard.back());
    claimants_->listen(claimant, heard.back());
  }
  claimants_->listen_only_to(*claimant, heard);
  if (permits->room.slots.empty()) {
    if (more) co_return std::optional<Waiting>();  // something may have ended before we listened: once more
    Waiting waiting{permits->changes_in};
    waiting.permits = permits->room.used;
    co_return std::optional<Waiting>(std::move(waiting));
  }
  Result<std::int64_t> lease = co_await lease_to_hold(claimant, deadline);
  if (!lease) co_return lease.error();
  claimant->grant.slots = permits->room.slots;
  const Token token(server_->known_epoch(), static_cast<std::uint64_t>(claimant->created));
  pb::TxnRequest request;
  require_usable(request, *claimant);
  on_success(request, putting(claimant->key, record_of(*claimant, Record::Stage::held).to_text(), *lease));
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) co_return answer.error();
  if (!answer->succeeded()) {
    Result<void> understood = co_await understand(claimant, std::move(*answer), true, deadline);
    if (!understood) co_return understood.error();
    co_return std::optional<Waiting>();
  }
  claimants_->listen_only_to(*claimant, {});
  claimant->grant.token = token;
  claimant->line.taken();
  co_return std::optional<Waiting>();
}

}  // namespace pawl::store::etcd
