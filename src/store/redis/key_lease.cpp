#include "store/redis/key_lease.hpp"

#include "base/lock_name.hpp"
#include "store/redis/answers.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace pawl::store::redis {

namespace {

/// As our client gave it; of a lock that only others use, as far as its key tells.
std::string name_in(const Reply& answer, const std::string& encoded) {
  if (!answer.items.empty() && !answer.items[0].text.empty()) return answer.items[0].text;
  return base::decode_name(encoded).value_or(encoded);
}

constexpr Capabilities a_mutex(std::string_view scheme, std::string_view summary) {
  return {
      .store = "redis",
      .scheme = scheme,
      .summary = summary,
      .wakes_waiters = true,
      .lock_delay = true,
      .revocable = true,
      .shortest_lease = std::chrono::milliseconds(100),
      .longest_lease = std::chrono::hours(24),
      .token_source = "counter on the server, with an epoch for each of its lives",
      .on_client_death = "when its lease ends",
  };
}

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

}  // namespace

constexpr Capabilities Simple::declared =
    a_mutex("simple", "SET NX PX and compare-and-delete, shared with redis-py, redsync and others (names=raw)");

constexpr Capabilities Redisson::declared =
    a_mutex("redisson", "the hash and the channel of Redisson's RLock, shared with it (names=raw)");

/// "8c6ad0f2-....:1": Redisson writes uuid:thread.
std::string Redisson::field(ClaimId claim) const {
  const std::string hex = to_string(claim);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20) + ":1";
}

std::string Redisson::channel(const std::string& key) const {
  const bool tagged = key.find('{') != std::string::npos;
  return tagged ? "redisson_lock__channel:" + key : "redisson_lock__channel:{" + key + "}";
}

std::string KeyLease::key_of(const LockKey& key) const {
  if (server_->config().raw_names) return key.name.bytes();
  return server_->config().prefix + lock_id(key);
}

std::string KeyLease::lock_id(const LockKey& key) const {
  return std::string(capabilities().scheme) + ":" + base::fit_name(key.name.bytes(), longest_name);
}

awaitable<Result<Reply>> KeyLease::ask(Claim claim, Deadline deadline) {
  const std::string key = key_of(claim.key);
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key), std::string(capabilities().scheme)};
  words.push_back(key);
  words.push_back(field(claim.id));
  words.push_back(channel(key));
  words.push_back(milliseconds(claim.lease));
  words.push_back(milliseconds(claim.lock_delay));
  words.push_back(claim.may_queue ? "1" : "0");
  words.push_back(claim.label);
  words.push_back(claim.key.name.bytes());
  return server_->run(key_scripts().claim, std::move(words), deadline);
}

awaitable<Result<ClaimState>> KeyLease::claim(Claim claim, Deadline deadline) {
  if (claim.key.kind != Kind::mutex) co_return only_mutexes();
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  Result<Reply> reply = co_await ask(claim, deadline);
  if (!reply) co_return reply.error();
  Result<ClaimState> state = state_of(*reply, claim);
  if (!state) co_return state;
  const std::string heard_on = channel(key_of(claim.key));
  const bool waits = std::holds_alternative<Waiting>(*state) && claim.may_queue;
  if (waits && !heard_on.empty() && !server_->hears(heard_on, claim.id)) {
    // First listen, then look again: it may have become free in between.
    server_->hear_of(heard_on, claim.id);
    std::get<Waiting>(*state).look_again_in = std::chrono::milliseconds(5);
  }
  if (std::holds_alternative<Waiting>(*state)) co_return state;
  server_->hear_no_more(claim.id);
  if (server_->config().wait_replicas == 0) co_return state;
  Result<void> safe = co_await replicated(deadline);
  if (!safe) co_return safe.error();
  co_return state;
}

void KeyLease::unwatch(ClaimId claim) {
  server_->hear_no_more(claim);
  Scripted::unwatch(claim);
}

awaitable<Result<void>> KeyLease::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> KeyLease::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

awaitable<Result<LockView>> KeyLease::inspect(LockKey key, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  std::vector<Words> locks;
  locks.push_back(Words{lock_id(key), key_of(key)});
  Result<std::vector<Reply>> answers = co_await inspect_all(key_scripts().inspect, std::move(locks), deadline);
  if (!answers) co_return answers.error();
  LockView unused{.kind = key.kind, .scheme = std::string(capabilities().scheme), .name = key.name.bytes()};
  co_return view_of(key, capabilities().scheme, answers->front()).value_or(std::move(unused));
}

awaitable<Result<std::vector<LockView>>> KeyLease::list(std::string prefix, Deadline deadline) {
  const std::string scheme(capabilities().scheme);
  if (server_->config().raw_names) {
    co_return Error{Errc::unsupported, "with names=raw nobody knows which keys are locks"};
  }
  const std::string ours = scheme + ":";
  Result<std::vector<std::string>> keys = co_await keys_behind(ours, deadline);
  if (!keys) co_return keys.error();
  std::vector<Words> locks;
  for (const std::string& key : *keys) {
    const std::string lock = ours + key;
    locks.push_back(Words{lock, server_->config().prefix + lock});
  }
  Result<std::vector<Reply>> answers = co_await inspect_all(key_scripts().inspect, std::move(locks), deadline);
  if (!answers) co_return answers.error();
  std::vector<LockView> views;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    const Reply& answer = (*answers)[i];
    const Result<LockName> name = LockName::make(name_in(answer, (*keys)[i]));
    if (!name || !name->bytes().starts_with(prefix)) continue;
    std::optional<LockView> view = view_of(LockKey{Kind::mutex, *name}, scheme, answer);
    if (view) views.push_back(std::move(*view));
  }
  std::sort(views.begin(), views.end(),
            [](const LockView& one, const LockView& other) { return one.name < other.name; });
  co_return views;
}

awaitable<Result<bool>> KeyLease::check(LockKey key, Token token, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  Words words{std::string(capabilities().scheme), key_of(key), std::to_string(token.epoch()),
              std::to_string(token.counter())};
  Result<Reply> reply = co_await server_->run(key_scripts().check, std::move(words), deadline);
  if (!reply) co_return reply.error();
  co_return reply->number() == 1;
}

}  // namespace pawl::store::redis
