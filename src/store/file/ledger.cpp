#include "store/file/ledger.hpp"

#include <algorithm>
#include <cstring>

namespace pawl::store::file {

namespace {

std::uint64_t nanoseconds(Time time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

// The letters are chosen so that what is written together lies on one page: counters, lock, head of the queue.
Key counters_key() { return Key('k'); }
Key session_key(SessionId id) { return Key('s').id(id); }
Key process_key(ProcessKey process, SessionId session) { return Key('y').number(process).id(session); }
Key ended_key(SessionId id) { return Key('e').id(id); }
Key lock_record_key(std::string_view lock) { return Key('l').text(lock); }
Key chronicle_key(std::string_view lock) { return Key('n').text(lock); }
Key sharer_key(std::uint64_t lock, std::uint64_t ticket) { return Key('m').number(lock).number(ticket); }
Key waiter_key(std::uint64_t lock, std::uint64_t ticket) { return Key('q').number(lock).number(ticket); }
Key queue_prefix(std::uint64_t lock) { return Key('q').number(lock); }
/// Just behind its session: what is written together lies on one page.
Key place_key(SessionId session, ClaimId claim) { return Key('s').id(session).id(claim); }
Key news_key(SessionId session, ClaimId claim) { return Key('u').id(session).id(claim); }
Key end_key(Time time, SessionId session) { return Key('d').number(nanoseconds(time)).text("s").id(session); }
Key end_key(Time time, std::string_view lock) { return Key('d').number(nanoseconds(time)).text("l").text(lock); }
Key copy_of(std::string_view key) { return Key(key.front()).text(key.substr(1)); }

template <class IdType>
IdType id_in(std::string_view key, std::size_t at) {
  return {number_in(key, at), number_in(key, at + 8)};
}

std::optional<ClaimRecord> as_claim(const std::optional<Transaction::Entry>& entry) {
  if (!entry) return std::nullopt;
  return unpack_claim(entry->value);
}

}  // namespace

Ledger::Ledger(Transaction& transaction) : transaction_(transaction) {
  if (const auto bytes = transaction_.get(counters_key())) saved_ = counters_ = Counters::unpack(*bytes);
}

void Ledger::save() {
  if (counters_ != saved_) transaction_.put(counters_key(), counters_.bytes());
}

bool Ledger::has_session(SessionId id) { return transaction_.get(session_key(id)).has_value(); }

std::optional<SessionRecord> Ledger::session(SessionId id) {
  const auto bytes = transaction_.get(session_key(id));
  if (!bytes) return std::nullopt;
  return SessionRecord::unpack(*bytes);
}

void Ledger::add_session(SessionId id, const SessionRecord& record) {
  put_session(id, record);
  transaction_.put(process_key(record.process, id), {});
  add_end(end_key(record.ends, id), record.ends);
}

void Ledger::put_session(SessionId id, const SessionRecord& record) {
  transaction_.put(session_key(id), record.pack());
}

void Ledger::move_end(SessionId id, SessionRecord& record, Time ends) {
  transaction_.erase(end_key(record.ends, id));
  record.ends = ends;
  add_end(end_key(ends, id), ends);
  put_session(id, record);
}

void Ledger::end_session(SessionId id, const SessionRecord& record, Time at) {
  transaction_.erase(end_key(record.ends, id));
  transaction_.erase(process_key(record.process, id));
  transaction_.erase(session_key(id));
  transaction_.put(ended_key(id), {reinterpret_cast<const char*>(&at), sizeof at});
  ++counters_.ended;
}

std::optional<Time> Ledger::ended(SessionId id) {
  const auto bytes = transaction_.get(ended_key(id));
  if (!bytes || bytes->size() != sizeof(Time)) return std::nullopt;
  Time at;
  std::memcpy(&at, bytes->data(), sizeof at);
  return at;
}

std::optional<SessionId> Ledger::first_ended() {
  const auto entry = transaction_.first(Key('e'));
  if (!entry) return std::nullopt;
  return id_in<SessionId>(entry->key, 1);
}

void Ledger::forget_ended(SessionId id) {
  transaction_.erase(ended_key(id));
  --counters_.ended;
}

std::vector<SessionId> Ledger::sessions_of(ProcessKey process, std::size_t most) {
  std::vector<SessionId> ids;
  const Key prefix = Key('y').number(process);
  for (auto entry = transaction_.first(prefix); entry && ids.size() < most;
       entry = transaction_.after(copy_of(entry->key), prefix.view())) {
    ids.push_back(id_in<SessionId>(entry->key, 9));
  }
  return ids;
}

std::vector<ProcessKey> Ledger::processes(std::size_t most) {
  std::vector<ProcessKey> all;
  const Key prefix('y');
  auto entry = transaction_.first(prefix);
  while (entry && all.size() < most) {
    all.push_back(number_in(entry->key, 1));
    const SessionId last{~std::uint64_t{0}, ~std::uint64_t{0}};
    entry = transaction_.after(process_key(all.back(), last), prefix.view());
  }
  return all;
}

std::optional<LockRecord> Ledger::lock(std::string_view key) {
  const auto bytes = transaction_.get(lock_record_key(key));
  if (!bytes) return std::nullopt;
  return LockRecord::unpack(*bytes);
}

void Ledger::put_lock(std::string_view key, const LockRecord& record) {
  transaction_.put(lock_record_key(key), record.pack());
}

void Ledger::erase_lock(std::string_view key) { transaction_.erase(lock_record_key(key)); }

void Ledger::add_shut(std::string_view key, Time until) { add_end(end_key(until, key), until); }

Chronicle Ledger::chronicle(std::string_view key) {
  const auto bytes = transaction_.get(chronicle_key(key));
  return bytes ? unpack_chronicle(*bytes) : Chronicle();
}

void Ledger::put_chronicle(std::string_view key, const Chronicle& chronicle) {
  transaction_.put(chronicle_key(key), pack(chronicle));
}

void Ledger::erase_chronicle(std::string_view key) { transaction_.erase(chronicle_key(key)); }

std::optional<std::string> Ledger::lock_after(std::string_view key) {
  const auto entry = transaction_.after(lock_record_key(key), "l");
  if (!entry) return std::nullopt;
  return std::string(entry->key.substr(1));
}

std::optional<ClaimRecord> Ledger::sharer(std::uint64_t lock, std::uint64_t ticket) {
  const auto bytes = transaction_.get(sharer_key(lock, ticket));
  if (!bytes) return std::nullopt;
  return unpack_claim(*bytes);
}

void Ledger::put_sharer(std::uint64_t lock, const ClaimRecord& record) {
  transaction_.put(sharer_key(lock, record.ticket), pack(record));
}

void Ledger::erase_sharer(std::uint64_t lock, std::uint64_t ticket) { transaction_.erase(sharer_key(lock, ticket)); }

std::vector<ClaimRecord> Ledger::sharers(std::uint64_t lock) {
  std::vector<ClaimRecord> all;
  const Key prefix = Key('m').number(lock);
  for (auto entry = transaction_.first(prefix); entry; entry = transaction_.after(copy_of(entry->key), prefix.view())) {
    all.push_back(unpack_claim(entry->value));
  }
  return all;
}

std::optional<ClaimRecord> Ledger::sharer_behind(std::uint64_t lock, std::uint64_t ticket) {
  return as_claim(transaction_.after(sharer_key(lock, ticket), Key('m').number(lock).view()));
}

std::optional<ClaimRecord> Ledger::waiter(std::uint64_t lock, std::uint64_t ticket) {
  const auto bytes = transaction_.get(waiter_key(lock, ticket));
  if (!bytes) return std::nullopt;
  return unpack_claim(*bytes);
}

void Ledger::put_waiter(std::uint64_t lock, const ClaimRecord& record) {
  transaction_.put(waiter_key(lock, record.ticket), pack(record));
}

void Ledger::erase_waiter(std::uint64_t lock, std::uint64_t ticket) { transaction_.erase(waiter_key(lock, ticket)); }

std::optional<ClaimRecord> Ledger::first_waiter(std::uint64_t lock) {
  return as_claim(transaction_.first(queue_prefix(lock)));
}

std::optional<ClaimRecord> Ledger::waiter_before(std::uint64_t lock, std::uint64_t ticket) {
  return as_claim(transaction_.before(waiter_key(lock, ticket), queue_prefix(lock).view()));
}

std::optional<ClaimRecord> Ledger::waiter_behind(std::uint64_t lock, std::uint64_t ticket) {
  return as_claim(transaction_.after(waiter_key(lock, ticket), queue_prefix(lock).view()));
}

std::optional<ClaimPlace> Ledger::place(SessionId session, ClaimId claim) {
  const auto bytes = transaction_.get(place_key(session, claim));
  if (!bytes) return std::nullopt;
  return ClaimPlace::unpack(*bytes);
}

void Ledger::put_place(SessionId session, ClaimId claim, const ClaimPlace& place) {
  transaction_.put(place_key(session, claim), place.pack());
}

void Ledger::erase_place(SessionId session, ClaimId claim) { transaction_.erase(place_key(session, claim)); }

std::vector<std::pair<ClaimId, ClaimPlace>> Ledger::places_of(SessionId session, std::size_t most) {
  std::vector<std::pair<ClaimId, ClaimPlace>> places;
  const Key owner = session_key(session);
  for (auto entry = transaction_.after(owner, owner.view()); entry && places.size() < most;
       entry = transaction_.after(copy_of(entry->key), owner.view())) {
    places.emplace_back(id_in<ClaimId>(entry->key, 17), ClaimPlace::unpack(entry->value));
  }
  return places;
}

void Ledger::add_news(SessionId session, ClaimId claim) { transaction_.put(news_key(session, claim), {}); }

void Ledger::erase_news(SessionId session, ClaimId claim) { transaction_.erase(news_key(session, claim)); }

std::vector<ClaimId> Ledger::news_of(SessionId session, std::size_t most) {
  std::vector<ClaimId> claims;
  const Key prefix = Key('u').id(session);
  for (auto entry = transaction_.first(prefix); entry && claims.size() < most;
       entry = transaction_.after(copy_of(entry->key), prefix.view())) {
    claims.push_back(id_in<ClaimId>(entry->key, 17));
  }
  return claims;
}

void Ledger::add_end(const Key& key, Time time) {
  transaction_.put(key, {});
  counters_.first_end = std::min(counters_.first_end, time);
}

std::optional<Ledger::Ended> Ledger::take_ended(Time now) {
  if (counters_.first_end > now) return std::nullopt;
  const auto entry = transaction_.first(Key('d'));
  counters_.first_end = entry ? Time(Duration(number_in(entry->key, 1))) : Time::max();
  if (counters_.first_end > now) return std::nullopt;
  const Key key = copy_of(entry->key);
  transaction_.erase(key);
  if (key.view()[9] == 's') return Ended{.session = id_in<SessionId>(key.view(), 10)};
  return Ended{.lock = std::string(key.view().substr(10))};
}

}  // namespace pawl::store::file
