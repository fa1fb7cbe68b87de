#include "store/redis/queue.hpp"

#include "base/lock_name.hpp"
#include "store/chronicle.hpp"
#include "store/redis/answers.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

namespace pawl::store::redis {

namespace {

/// The server's milliseconds as a time of ours: only differences count.
base::Time time_of(std::uint64_t milliseconds) { return base::Time(std::chrono::milliseconds(milliseconds)); }

/// "epoch counter since till pid n m\n", host (n bytes), label (m bytes), value.
Chronicle::Entry entry_of(std::string_view text) {
  std::array<std::uint64_t, 7> numbers{};
  for (std::uint64_t& number : numbers) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    number = whole(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto [epoch, counter, since, till, pid, host, label] = numbers;
  const auto take = [&text](std::uint64_t size) {
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(part.size());
    return std::string(part);
  };
  Chronicle::Entry entry;
  entry.leader.token = Token(epoch, counter);
  entry.leader.owner.pid = static_cast<std::int64_t>(pid);
  entry.leader.owner.host = take(host);
  entry.leader.owner.label = take(label);
  entry.leader.value = std::string(text);
  entry.since = time_of(since);
  if (till != 0) entry.until = time_of(till);
  return entry;
}

}  // namespace

constexpr Capabilities Queue::declared = {
    .store = "redis",
    .scheme = "queue",
    .summary = "a fair queue, one script to claim and one to release",
    .fair = true,
    .wakes_waiters = true,
    .knows_contention = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .survives_restart = false,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter on the server, with an epoch for each of its lives",
    .on_client_death = "when its lease ends",
};

std::string Queue::lock_id(const LockKey& key) const {
  return std::string(to_string(key.kind)) + ":" + base::fit_name(key.name.bytes(), longest_name);
}

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline deadline) {
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key), claim.key.name.bytes()};
  words.push_back(claim.mode == Mode::shared ? "s" : "x");
  words.push_back(std::to_string(claim.permits.wanted));
  words.push_back(std::to_string(claim.permits.of));
  words.push_back(milliseconds(claim.lease));
  words.push_back(milliseconds(claim.lock_delay));
  words.push_back(claim.may_queue ? "1" : "0");
  words.push_back(claim.label);
  words.push_back(claim.value);
  Result<Reply> reply = co_await run_to_the_end(queue_scripts().claim, std::move(words), deadline);
  if (!reply) co_return reply.error();
  Result<ClaimState> state = state_of(*reply, claim);
  const bool granted = state && std::holds_alternative<Granted>(*state);
  if (!granted || server_->config().wait_replicas == 0) co_return state;
  Result<void> safe = co_await replicated(deadline);
  if (!safe) co_return safe.error();
  co_return state;
}

awaitable<Result<void>> Queue::downgrade(Claim claim, Deadline deadline) {
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key)};
  Result<Reply> reply = co_await server_->run(queue_scripts().downgrade, std::move(words), deadline);
  if (!reply) co_return reply.error();
  if (reply->number() == 1) co_return Result<void>();
  co_return Error{Errc::not_owner, "claim " + to_string(claim.id) + " does not hold " + claim.key.name.quoted()};
}

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline deadline) {
  std::vector<Words> locks;
  locks.push_back(Words{lock_id(key)});
  Result<std::vector<Reply>> answers = co_await inspect_all(queue_scripts().inspect, std::move(locks), deadline);
  if (!answers) co_return answers.error();
  LockView unused{.kind = key.kind, .scheme = "queue", .name = key.name.bytes()};
  co_return view_of(key, declared.scheme, answers->front()).value_or(std::move(unused));
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline deadline) {
  Words words{lock_id(key)};
  Result<Reply> reply = co_await server_->run(queue_scripts().succession, std::move(words), deadline);
  if (!reply) co_return reply.error();
  if (reply->items.size() < 2) co_return unexpected();
  Chronicle chronicle;
  for (std::size_t i = 2; i < reply->items.size(); ++i) chronicle.entries.push_back(entry_of(reply->items[i].text));
  Succession succession = chronicle.after(after, base::Time(from_milliseconds(reply->items[1])));
  succession.vacant = reply->items[0].is("1");
  co_return succession;
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline deadline) {
  Result<std::vector<std::string>> keys = co_await keys_behind("l:", deadline);
  if (!keys) co_return keys.error();
  std::vector<Words> locks;
  for (const std::string& key : *keys) locks.push_back(Words{key});
  Result<std::vector<Reply>> answers = co_await inspect_all(queue_scripts().inspect, std::move(locks), deadline);
  if (!answers) co_return answers.error();
  std::vector<LockView> views;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    const Reply& answer = (*answers)[i];
    const Result<Kind> kind = parse_kind((*keys)[i].substr(0, (*keys)[i].find(':')));
    if (!kind || answer.items.empty() || !answer.items[0].text.starts_with(prefix)) continue;
    const Result<LockName> name = LockName::make(answer.items[0].text);  // the whole of it, where the key has its hash
    if (name) views.push_back(*view_of(LockKey{*kind, *name}, declared.scheme, answer));
  }
  std::sort(views.begin(), views.end(), [](const LockView& one, const LockView& other) {
    return std::tie(one.kind, one.name) < std::tie(other.kind, other.name);
  });
  co_return views;
}

awaitable<Result<bool>> Queue::check(LockKey key, Token token, Deadline deadline) {
  std::string from = "-inf";
  for (;;) {
    Words words{lock_id(key), std::to_string(token.epoch()), std::to_string(token.counter()), from};
    Result<Reply> reply = co_await server_->run(queue_scripts().check, std::move(words), deadline);
    if (!reply) co_return reply.error();
    if (reply->type == Reply::Type::integer) co_return reply->number() == 1;
    from = reply->text;
  }
}

}  // namespace pawl::store::redis
