#include "store/etcd/claimants.hpp"

#include "store/etcd/requests.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr std::size_t most_asked = 100;    // keys of one transaction; the servers allow 128 parts
constexpr std::size_t most_looked = 1000;  // keys at one renewal: where more are held, the next renewal goes on

}  // namespace

void Claimants::start() {
  const auto server = server_.lock();
  if (!server) return;
  server->deliver_to([weak = weak_from_this()](Session& session, const std::optional<Letter>& letter) {
    if (const auto self = weak.lock()) self->deliver(session, letter);
  });
  server->when_renewed([weak = weak_from_this(), &runtime = server->runtime()](const SharedSession& session) {
    if (const auto self = weak.lock()) base::spawn(runtime, self->look_at_held(self, session));
  });
}

SharedClaimant Claimants::find(ClaimId id) const {
  const auto found = claimants_.find(id);
  return found == claimants_.end() ? nullptr : found->second;
}

SharedClaimant Claimants::of(const Claim& claim, const SharedSession& session) {
  SharedClaimant& claimant = claimants_[claim.id];
  if (!claimant) {
    const auto server = server_.lock();
    std::string key = server->layout().key(claim.key, claim.mode, session->lease, claim.id);
    claimant = std::make_shared<Claimant>(claim, session, std::move(key));
  }
  claimant->claim.may_queue = claim.may_queue;
  return claimant;
}

void Claimants::unwatch(ClaimId claim) {
  notices_.unwatch(claim);
  const SharedClaimant claimant = find(claim);
  if (!claimant) return;
  listen_only_to(*claimant, {});
  claimant->session->news.asked(claim);
  claimants_.erase(claim);
}

void Claimants::listen(const SharedClaimant& claimant, const std::string& key, const std::string& range_end) {
  const auto server = server_.lock();
  if (!server || claimant->watches.contains(key)) return;
  const auto hear = [weak = weak_from_this(), whose = std::weak_ptr(claimant), key](const Heard& heard) {
    const auto self = weak.lock();
    const auto alive = whose.lock();
    if (self && alive) self->heard(alive, key, heard);
  };
  claimant->watches[key] = server->cluster().watch(key, range_end, hear);
}

void Claimants::listen_only_to(Claimant& claimant, const std::vector<std::string>& keys) {
  const auto server = server_.lock();
  std::erase_if(claimant.watches, [&](const auto& watch) {
    const bool needed = std::find(keys.begin(), keys.end(), watch.first) != keys.end();
    if (!needed && server) server->cluster().unwatch(watch.second);
    return !needed;
  });
}

void Claimants::heard(const SharedClaimant& claimant, const std::string& key, const Heard& heard) {
  if (!claimant->watches.contains(key)) return;
  Line& line = claimant->line;
  const bool first_for_permits = claimant->claim.key.kind == Kind::permits && line.next() == Line::Step::take;
  Meaning meaning = Meaning::nothing;
  if (key == line.last()) {
    meaning = meaning_for(claimant->waiter(), heard);
  } else if (first_for_permits && key.ends_with('/')) {
    meaning = may_free_permits(heard) ? Meaning::look : Meaning::nothing;
  } else if (heard.what != Heard::What::put) {
    meaning = Meaning::look;  // a session that its key outlasts has ended
  }
  if (meaning == Meaning::nothing) return;
  if (meaning == Meaning::look) {
    line.look_again();
  } else {
    line.left(meaning == Meaning::held_and_gone);
    listen_only_to(*claimant, {});
  }
  notices_.tell(claimant->claim.id, Notice());
}

/// Behind the one that was looked at last, and on from the first.
std::vector<SharedClaimant> Claimants::next_held(const SharedSession& session) {
  std::vector<SharedClaimant> held;
  const auto collect = [&](auto from, auto to) {
    for (auto it = from; it != to && held.size() < most_looked; ++it) {
      const bool holds = it->second->session == session && it->second->line.next() == Line::Step::keep;
      if (holds) held.push_back(it->second);
    }
  };
  const auto behind = claimants_.upper_bound(session->looked_at);
  collect(behind, claimants_.end());
  collect(claimants_.begin(), behind);
  if (!held.empty()) session->looked_at = held.back()->claim.id;
  return held;
}

/// Not part of the renewal, which need not wait for it. What is missing is looked at by its claim: it may be a release of ours.
awaitable<void> Claimants::look_at_held([[maybe_unused]] std::shared_ptr<Claimants> self, SharedSession session) {
  const auto server = server_.lock();
  if (!server || std::exchange(session->looking, true)) co_return;
  const std::vector<SharedClaimant> held = next_held(session);
  const Deadline deadline = Deadline::in(server->runtime().now(), server->config().timeout);
  bool answered = true;
  for (std::size_t begin = 0; begin < held.size() && answered; begin += most_asked) {
    const std::size_t end = std::min(begin + most_asked, held.size());
    pb::TxnRequest question;
    for (std::size_t i = begin; i < end; ++i) {
      pb::RequestOp key = getting(held[i]->key);
      key.mutable_request_range()->set_keys_only(true);
      on_success(question, std::move(key));
    }
    Result<pb::TxnResponse> answer = co_await server->read(std::move(question), deadline);
    answered = answer.has_value();
    for (std::size_t i = begin; i < end && answered; ++i) {
      const pb::KeyValue* kv = found_one(*answer, static_cast<int>(i - begin));
      if (kv != nullptr && kv->create_revision() == held[i]->created) continue;
      Letter letter;
      letter.claim = held[i]->claim.id;
      letter.taken_away = true;
      deliver(*session, letter);
    }
  }
  session->looking = false;
}

void Claimants::deliver(Session& session, const std::optional<Letter>& letter) {
  if (!letter) {
    for (const auto& [id, claimant] : claimants_) {
      if (claimant->session.get() == &session) session.news.told(id);
    }
    return;
  }
  const SharedClaimant claimant = find(letter->claim);
  if (!claimant) return;
  session.news.told(letter->claim);
  if (letter->taken_away && claimant->line.next() != Line::Step::keep) claimant->line.taken_away();
  Notice notice;
  notice.what = letter->taken_away ? Notice::What::gone : Notice::What::release_requested;
  notices_.tell(letter->claim, notice);
}

}  // namespace pawl::store::etcd
