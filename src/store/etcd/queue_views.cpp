// What anybody can see of the lines: holders, waiters, leaders; and how a holder is asked for its lock.

#include "base/lock_name.hpp"
#include "store/chronicle.hpp"
#include "store/etcd/queue.hpp"
#include "store/etcd/requests.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr std::int64_t most_listed = 1000;  // keys of one answer

Duration age_of(std::uint64_t since, std::uint64_t now) {
  return std::chrono::milliseconds(since == 0 || now < since ? 0 : now - since);
}

}  // namespace

Owner owner_of(const Seen& seen) {
  if (seen.record) return seen.record->owner;
  Owner owner;
  owner.foreign = true;
  return owner;
}

/// With names=raw all kinds are in one folder.
bool Queue::waits_for(Kind ours, Kind other, Mode /*mode*/) const {
  if (ours == other) return true;
  return server_->config().raw_names && ours != Kind::permits && other != Kind::permits;
}

/// `keys`, `candidates`: the parts of the answer that have listed them.
Queue::SeenLine Queue::line_of(const LockKey& key, const pb::TxnResponse& response, int keys, int candidates) const {
  const std::string folder = layout().folder(key);
  std::map<std::string, pb::KeyValue> records;
  if (key.kind == Kind::election) {
    for (const pb::KeyValue& kv : found(response, candidates)) records[kv.key()] = kv;
  }
  SeenLine line;
  for (const pb::KeyValue& kv : found(response, keys)) {
    Seen seen = see(kv, folder, key.kind);
    const auto record = seen.owner ? records.find(layout().candidate(key, seen.owner->claim)) : records.end();
    if (record != records.end()) {
      seen.record = Record::parse(record->second.value());
      seen.record_changed = record->second.mod_revision();
    }
    line.push_back(std::move(seen));
  }
  return line;
}

awaitable<Result<Queue::SeenLine>> Queue::see_line(LockKey key, Deadline deadline) {
  if (auto possible = check_kind(key.kind, server_->config().raw_names); !possible) co_return possible.error();
  Result<void> ready = co_await server_->ready(deadline);
  if (!ready) co_return ready.error();
  pb::TxnRequest question;
  on_success(question, listing(all_in(layout().folder(key))));
  if (key.kind == Kind::election) on_success(question, listing(all_in(layout().candidates(key))));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  SeenLine line = line_of(key, *answer, 0, 1);
  co_return co_await tell_failed(std::move(line), deadline);
}

ClaimView Queue::view_of(const Seen& seen, bool holds) const {
  ClaimView view;
  view.claim = to_string(seen.id());
  view.mode = seen.mode();
  view.owner = owner_of(seen);
  view.value = seen.value;
  const auto counter = static_cast<std::uint64_t>(seen.created);
  if (holds) view.token = Token(seen.record ? seen.record->epoch : server_->known_epoch(), counter);
  if (!seen.record) return view;
  const Record& record = *seen.record;
  view.age = age_of(record.since, server_->runtime().unix_milliseconds());
  view.lease_left = record.lease;
  view.release_requested = record.release_requested;
  view.permits = record.permits.wanted;
  if (holds) view.slots = record.slots;
  return view;
}

LockView Queue::view_of(const LockKey& key, const SeenLine& line) const {
  LockView view{.kind = key.kind, .scheme = std::string(declared.scheme), .name = key.name.bytes()};
  for (const Seen& seen : line) {
    if (seen.record && seen.record->permits.of != 0) view.permits = seen.record->permits.of;
    if (seen.failed()) {
      view.shut_for = std::max(view.shut_for, shut_for(seen));
      continue;
    }
    // Of another library's clients, the first one holds the lock.
    const bool holds = seen.record ? seen.holds() : &seen == &line.front();
    (holds ? view.holders : view.waiters).push_back(view_of(seen, holds));
  }
  return view;
}

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline deadline) {
  Result<SeenLine> line = co_await see_line(key, deadline);
  if (!line) co_return line.error();
  co_return view_of(key, *line);
}

/// Where the key does not tell it, the record does.
awaitable<Result<LockName>> Queue::name_of(KeyPath path, pb::KeyValue kv, Deadline deadline) {
  Result<std::string> bytes = base::decode_name(path.encoded_name);
  if (bytes) co_return LockName::make(*bytes);
  std::string text = kv.value();
  const std::optional<KeyOwner> owner = owner_of_key(path.rest);
  if (path.kind == Kind::election && owner) {
    const std::string folder = kv.key().substr(0, kv.key().size() - path.rest.size());
    pb::TxnRequest question;
    on_success(question, getting(layout().candidates_of(folder) + to_string(owner->claim)));
    Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
    if (!answer) co_return answer.error();
    const pb::KeyValue* there = found_one(*answer, 0);
    text = there == nullptr ? "" : there->value();
  }
  const std::optional<Record> record = Record::parse(text);
  co_return LockName::make(record ? record->name : "");
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline deadline) {
  if (server_->config().raw_names) {
    co_return Error{Errc::unsupported, "with names=raw it is not known which keys are locks"};
  }
  Result<void> ready = co_await server_->ready(deadline);
  if (!ready) co_return ready.error();
  std::map<std::string, LockKey> by_folder;
  std::map<std::pair<Kind, std::string>, SeenLine> lines;
  KeyRange rest = all_in(layout().folders());
  for (bool more = true; more;) {
    pb::RangeRequest request;
    request.set_key(rest.begin);
    request.set_range_end(rest.end);
    request.set_limit(most_listed);
    Result<pb::RangeResponse> answer = co_await server_->cluster().range(std::move(request), deadline);
    if (!answer) co_return answer.error();
    for (const pb::KeyValue& kv : answer->kvs()) {
      const std::optional<KeyPath> path = path_of_key(std::string_view(kv.key()).substr(layout().folders().size()));
      if (!path) continue;
      const std::string folder = kv.key().substr(0, kv.key().size() - path->rest.size());
      if (!by_folder.contains(folder)) {
        Result<LockName> name = co_await name_of(*path, kv, deadline);
        if (!name) continue;
        by_folder.insert({folder, LockKey{path->kind, *name}});
      }
      const LockKey& key = by_folder.at(folder);
      if (!key.name.bytes().starts_with(prefix)) continue;
      lines[{key.kind, key.name.bytes()}].push_back(see(kv, folder, key.kind));
    }
    more = answer->more() && answer->kvs_size() > 0;
    if (more) rest.begin = answer->kvs(answer->kvs_size() - 1).key() + '\0';
  }
  std::vector<LockView> views;
  for (auto& [order, line] : lines) {
    const LockKey key{order.first, *LockName::make(order.second)};
    std::sort(line.begin(), line.end(), [](const Seen& one, const Seen& other) { return one.created < other.created; });
    Result<SeenLine> told = std::move(line);
    if (key.kind == Kind::election) {
      told = co_await see_line(key, deadline);  // with what is known of the candidates
    } else {
      told = co_await tell_failed(std::move(*told), deadline);
    }
    if (!told) co_return told.error();
    LockView view = view_of(key, *told);
    const bool used = !view.holders.empty() || !view.waiters.empty() || view.shut_for > Duration::zero();
    if (used) views.push_back(std::move(view));
  }
  co_return views;
}

awaitable<Result<bool>> Queue::check(LockKey key, Token token, Deadline deadline) {
  Result<LockView> view = co_await inspect(std::move(key), deadline);
  if (!view) co_return view.error();
  co_return std::any_of(view->holders.begin(), view->holders.end(), [&](const ClaimView& holder) {
    return holder.token.counter() == token.counter() && token.epoch() == holder.token.epoch();
  });
}

// Elections.

/// Written by whoever is about to lead.
awaitable<Result<pb::RequestOp>> Queue::history_entry(SharedClaimant claimant, Token token, Deadline deadline) {
  const std::string key = layout().reigns(claimant->claim.key);
  Result<std::int64_t> lease = co_await server_->history_lease(deadline);
  if (!lease) co_return lease.error();
  pb::TxnRequest question;
  on_success(question, getting(key));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  const pb::KeyValue* there = found_one(*answer, 0);
  Notes notes;
  if (there != nullptr) notes = Notes::parse(there->value());
  Notes::Reign reign;
  reign.leader.value = claimant->claim.value;
  reign.leader.token = token;
  reign.leader.owner = claimant->session->owner;
  reign.leader.owner.label = claimant->claim.label;
  reign.since = server_->runtime().unix_milliseconds();
  reign.after_nobody = !claimant->line.waited();
  const bool known = !notes.reigns.empty() && notes.reigns.back().leader.token.counter() == token.counter();
  if (known) notes.reigns.pop_back();
  notes.reigns.push_back(std::move(reign));
  if (notes.reigns.size() > Chronicle::most) notes.reigns.erase(notes.reigns.begin());
  co_return putting(key, notes.to_text(), *lease);
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline deadline) {
  if (auto possible = check_kind(key.kind, server_->config().raw_names); !possible) co_return possible.error();
  Result<void> ready = co_await server_->ready(deadline);
  if (!ready) co_return ready.error();
  pb::TxnRequest question;
  on_success(question, getting(layout().reigns(key)));
  on_success(question, listing(all_in(layout().folder(key))));
  on_success(question, listing(all_in(layout().candidates(key))));
  Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
  if (!answer) co_return answer.error();
  const pb::KeyValue* history = found_one(*answer, 0);
  Notes notes;
  if (history != nullptr) notes = Notes::parse(history->value());
  SeenLine line = line_of(key, *answer, 1, 2);
  Result<SeenLine> told = co_await tell_failed(std::move(line), deadline);
  if (!told) co_return told.error();
  const LockView view = view_of(key, *told);
  const std::uint64_t now = server_->runtime().unix_milliseconds();
  Succession succession;
  for (const Notes::Reign& reign : notes.reigns) {
    if (reign.leader.token <= after) continue;
    succession.reigns.push_back(Reign{reign.leader, reign.after_nobody});
    succession.reigns.back().leader.age = age_of(reign.since, now);
  }
  // The history is kept for a while only, and clients of other libraries do not write it.
  const ClaimView* leader = view.holders.empty() ? nullptr : &view.holders.front();
  const Token last = notes.reigns.empty() ? Token() : notes.reigns.back().leader.token;
  if (leader != nullptr && leader->token > after && leader->token > last) {
    const Leader current{leader->value, leader->token, leader->owner, leader->age};
    succession.reigns.push_back(Reign{current});
  }
  // Whoever is first in line leads as soon as it has written so, unless it must wait for a delay.
  const bool next_is_there = !view.waiters.empty() && view.shut_for <= Duration::zero();
  succession.vacant = leader == nullptr && !next_is_there;
  co_return succession;
}

// Revoking.

/// With the change of its key, a letter to its session goes off. False: it has changed meanwhile.
awaitable<Result<bool>> Queue::send_letter(LockKey key, Seen seen, bool now, Deadline deadline) {
  pb::TxnRequest request;
  require_unchanged(request, seen.key, seen.changed);
  if (now) {
    on_success(request, erasing(seen.key));
    if (key.kind == Kind::election && seen.owner)
      on_success(request, erasing(layout().candidate(key, seen.owner->claim)));
  } else {
    seen.record->release_requested = true;
    const bool candidate = key.kind == Kind::election;
    const std::string where = candidate ? layout().candidate(key, seen.owner->claim) : seen.key;
    require_unchanged(request, where, seen.record_changed);
    on_success(request, rewriting(where, seen.record->to_text()));
  }
  if (seen.owner) {
    const std::string session = layout().session(seen.owner->lease);
    Letter letter;
    letter.claim = seen.owner->claim;
    letter.taken_away = now;
    pb::TxnRequest mail;
    require_created(mail, session, 0);
    on_failure(mail, rewriting(session, letter.to_text()));
    on_success(request, nested(std::move(mail)));
  }
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) co_return answer.error();
  co_return answer->succeeded();
}

awaitable<Result<bool>> Queue::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  for (int i = 0; i < attempts; ++i) {
    Result<SeenLine> line = co_await see_line(key, deadline);
    if (!line) co_return line.error();
    const auto found = std::find_if(line->begin(), line->end(), [&](const Seen& seen) { return seen.id() == claim; });
    const bool there = found != line->end() && !found->failed();
    if (!there) co_return false;
    if (!now && !found->record) {
      co_return Error{Errc::unsupported, "a client of another library cannot be asked for its lock, only robbed of it"};
    }
    Result<bool> sent = co_await send_letter(key, *found, now, deadline);
    if (!sent || *sent) co_return sent;
  }
  co_return Error{Errc::store_unavailable, "the key keeps being changed"};
}

}  // namespace pawl::store::etcd
