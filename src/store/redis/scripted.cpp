#include "store/redis/scripted.hpp"

#include "store/redis/answers.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace pawl::store::redis {

namespace {

constexpr std::size_t most_at_once = 200;  // locks that one script is asked for

/// Behind what an earlier request has told of the same lock.
void append(Reply& seen, Reply&& more) {
  if (more.items.size() < 5) return;
  more.items.resize(5);
  if (seen.items.empty()) {
    seen = std::move(more);
    return;
  }
  for (const std::size_t part : {3U, 4U}) {
    std::move(more.items[part].items.begin(), more.items[part].items.end(), std::back_inserter(seen.items[part].items));
  }
}

}  // namespace

awaitable<Result<Reply>> Scripted::run_to_the_end(const Script& script, Words words, Deadline deadline) {
  const auto server = server_;
  for (;;) {
    Words again = words;
    Result<Reply> reply = co_await server->run(script, std::move(again), deadline);
    const bool more = reply && !reply->items.empty() && reply->items[0].is("more");
    if (!more) co_return reply;
    if (deadline.passed(server->runtime().now())) {
      co_return Error{Errc::store_unavailable, "dead clients have left too much behind; it is being cleaned up"};
    }
  }
}

awaitable<Result<std::vector<Reply>>> Scripted::inspect_all(const Script& script, std::vector<Words> locks,
                                                            Deadline deadline) {
  const auto server = server_;
  std::vector<Reply> seen(locks.size());
  std::string part = "h";
  std::string from = "-inf";
  for (std::size_t begin = 0; begin < locks.size();) {
    Words words{part, from};
    for (std::size_t i = begin; i < std::min(begin + most_at_once, locks.size()); ++i) words.append(locks[i]);
    Result<Reply> reply = co_await server->run(script, std::move(words), deadline);
    if (!reply) co_return reply.error();
    if (reply->items.empty() || reply->items.size() > locks.size() - begin) co_return unexpected();
    const std::vector<Reply>& last = reply->items.back().items;
    const bool more = last.size() == 7;
    part = more ? last[5].text : "h";
    from = more ? last[6].text : "-inf";
    for (std::size_t i = 0; i < reply->items.size(); ++i) append(seen[begin + i], std::move(reply->items[i]));
    begin += reply->items.size() - (more ? 1 : 0);
  }
  co_return seen;
}

awaitable<Result<void>> Scripted::replicated(Deadline deadline) {
  const std::int64_t wanted = server_->config().wait_replicas;
  // It is asked again, with the same claim, and withdrawn for good by whoever loses patience.
  const Duration left = deadline.at - server_->runtime().now();
  const Duration patience = std::max<Duration>(left / 2, std::chrono::milliseconds(1));
  Result<std::int64_t> known = co_await server_->replicas_that_know(patience, deadline);
  if (!known) co_return Error{Errc::store_unavailable, known.error().message};
  if (*known >= wanted) co_return Result<void>();
  co_return Error{Errc::store_unavailable, "only " + std::to_string(*known) + " of " + std::to_string(wanted) +
                                               " replicas have confirmed the grant"};
}

awaitable<Result<Withdrawn>> Scripted::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key)};
  words.push_back(how.ending == Ending::failed ? "1" : "0");
  words.push_back(how.unsettled ? "1" : "0");
  Result<Reply> reply = co_await server_->run(queue_scripts().withdraw, std::move(words), deadline);
  if (!reply) co_return reply.error();
  if (reply->type != Reply::Type::integer) co_return unexpected();
  co_return reply->number() == 1 ? Withdrawn::done : Withdrawn::not_there;
}

awaitable<Result<Standing>> Scripted::look(Claim claim, Deadline deadline) {
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key)};
  Result<Reply> reply = co_await server_->run(queue_scripts().look, std::move(words), deadline);
  if (!reply) co_return reply.error();
  if (reply->items.empty()) co_return unexpected();
  co_return standing_of(*reply);
}

awaitable<Result<void>> Scripted::relabel(Claim claim, Deadline deadline) {
  Words words{to_string(claim.id), to_string(claim.session), lock_id(claim.key), claim.label};
  Result<Reply> reply = co_await server_->run(queue_scripts().relabel, std::move(words), deadline);
  if (!reply) co_return reply.error();
  co_return Result<void>();
}

void Scripted::watch(ClaimId claim, Waker waker) { server_->notices().watch(claim, std::move(waker)); }

void Scripted::unwatch(ClaimId claim) { server_->notices().unwatch(claim); }

awaitable<Result<bool>> Scripted::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  Words words{to_string(claim), lock_id(key), now ? "1" : "0"};
  Result<Reply> reply = co_await server_->run(queue_scripts().revoke, std::move(words), deadline);
  if (!reply) co_return reply.error();
  co_return reply->number() == 1;
}

awaitable<Result<std::vector<std::string>>> Scripted::keys_behind(std::string start, Deadline deadline) {
  start = server_->config().prefix + start;
  std::string pattern;
  for (const char c : start) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') pattern += '\\';
    pattern += c;
  }
  std::set<std::string> found;
  std::string cursor = "0";
  do {
    Words words{"SCAN", cursor, "MATCH", pattern + "*", "COUNT", "1000"};
    Result<Reply> reply = co_await server_->call(std::move(words), deadline);
    if (!reply) co_return reply.error();
    if (reply->items.size() != 2) co_return unexpected();
    cursor = reply->items[0].text;
    for (const Reply& key : reply->items[1].items) found.insert(key.text.substr(start.size()));
  } while (cursor != "0");
  std::vector<std::string> keys(found.begin(), found.end());
  co_return keys;
}

}  // namespace pawl::store::redis
