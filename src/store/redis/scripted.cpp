#include "store/redis/scripted.hpp"

#include "store/redis/answers.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

namespace pawl::store::redis {

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

void Scripted::watch(ClaimId claim, Waker waker) { server_->watch(claim, std::move(waker)); }

void Scripted::unwatch(ClaimId claim) { server_->unwatch(claim); }

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
