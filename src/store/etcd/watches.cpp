#include "store/etcd/watches.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

Watches::Id Watches::add(std::string key, std::string range_end, Hear hear) {
  const Id id = ++last_;
  auto watch = std::make_shared<Watch>();
  watch->id = id;
  watch->key = std::move(key);
  watch->range_end = std::move(range_end);
  watch->hear = std::move(hear);
  watches_.emplace(id, std::move(watch));
  wanted_.push_back(id);
  return id;
}

void Watches::remove(Id id) {
  const auto it = watches_.find(id);
  if (it == watches_.end()) return;
  if (it->second->state == State::made) {
    by_server_id_.erase(it->second->server_id);
    to_cancel_.push_back(it->second->server_id);
  } else if (it->second->state == State::wanted) {
    std::erase(wanted_, id);
  }
  it->second->state = State::gone;  // its events may be on their way to it
  watches_.erase(it);
}

void Watches::want(Watch& watch) {
  watch.interrupted = watch.interrupted || watch.state == State::made;
  watch.state = State::wanted;
  wanted_.push_back(watch.id);
}

void Watches::begin() {
  by_server_id_.clear();
  wanted_.clear();
  asked_.clear();
  to_cancel_.clear();
  takes_our_ids_ = false;
  for (const auto& [id, watch] : watches_) want(*watch);
}

std::optional<pb::WatchRequest> Watches::next() {
  pb::WatchRequest request;
  if (!to_cancel_.empty()) {
    request.mutable_cancel_request()->set_watch_id(to_cancel_.front());
    to_cancel_.pop_front();
    return request;
  }
  if (wanted_.empty() || (!takes_our_ids_ && !asked_.empty())) return std::nullopt;
  Watch& watch = *watches_.at(wanted_.front());
  wanted_.pop_front();
  asked_.push_back({watch.id, ++last_server_id_});
  watch.state = State::asked;
  pb::WatchCreateRequest& create = *request.mutable_create_request();
  create.set_key(watch.key);
  create.set_range_end(watch.range_end);
  create.set_prev_kv(true);
  create.set_watch_id(last_server_id_);
  return request;
}

// Answers come in the order of the questions.
void Watches::created(const pb::WatchResponse& response, Taken& taken) {
  if (asked_.empty()) return;
  const auto [id, asked_for] = asked_.front();
  asked_.pop_front();
  takes_our_ids_ = takes_our_ids_ || response.watch_id() == asked_for;
  const auto it = watches_.find(id);
  if (it == watches_.end()) {  // removed meanwhile
    if (!response.canceled()) to_cancel_.push_back(response.watch_id());
    return;
  }
  const Shared watch = it->second;
  if (response.canceled()) {
    watch->why = response.cancel_reason();
    const bool again = std::exchange(watch->was_refused, true);
    watch->state = again ? State::refused : State::doubted;
    if (again) taken.settled.push_back(id);
    taken.doubted = !again;
    return;
  }
  taken.settled.push_back(id);
  watch->was_refused = false;
  watch->state = State::made;
  watch->server_id = response.watch_id();
  watch->from = response.header().revision();
  by_server_id_[watch->server_id] = watch;
  if (std::exchange(watch->interrupted, false)) {
    Heard missed;
    missed.key = watch->key;
    missed.mod_revision = watch->from;
    watch->hear(missed);
  }
}

Watches::Taken Watches::take(const pb::WatchResponse& response) {
  Taken taken;
  if (response.created()) {
    created(response, taken);
    return taken;
  }
  const auto it = by_server_id_.find(response.watch_id());
  if (it == by_server_id_.end()) return taken;
  const Shared watch = it->second;
  for (const pb::Event& event : response.events()) {
    if (watch->state == State::made) tell(*watch, event);
  }
  // Compacted, before the server could tell us all; or our rights have changed.
  if (response.canceled() && watch->state == State::made) {
    by_server_id_.erase(watch->server_id);
    want(*watch);
  }
  return taken;
}

std::vector<Watches::Id> Watches::refuse_doubted() {
  std::vector<Id> refused;
  for (const auto& [id, watch] : watches_) {
    if (watch->state != State::doubted) continue;
    watch->state = State::refused;
    refused.push_back(id);
  }
  return refused;
}

void Watches::tell(const Watch& watch, const pb::Event& event) {
  Heard heard;
  heard.what = event.type() == pb::Event::DELETE ? Heard::What::deleted : Heard::What::put;
  heard.key = event.kv().key();
  heard.value = event.kv().value();
  if (event.has_prev_kv()) heard.before = event.prev_kv().value();
  const pb::KeyValue& lived = event.type() == pb::Event::DELETE ? event.prev_kv() : event.kv();
  heard.create_revision = lived.create_revision();
  heard.mod_revision = event.kv().mod_revision();
  watch.hear(heard);
}

Result<std::optional<std::int64_t>> Watches::made_from(Id id) const {
  const auto it = watches_.find(id);
  if (it == watches_.end()) return Error{Errc::cancelled, "the watch was ended"};
  const Watch& watch = *it->second;
  if (watch.state == State::refused) return Error{Errc::permission_denied, "the watch was refused: " + watch.why};
  if (watch.state == State::made) return std::optional<std::int64_t>(watch.from);
  return std::optional<std::int64_t>();
}

}  // namespace pawl::store::etcd
