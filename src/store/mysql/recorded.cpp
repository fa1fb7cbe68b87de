#include "store/mysql/recorded.hpp"

#include "base/lock_name.hpp"
#include "store/mysql/answers.hpp"
#include "store/mysql/queue.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace pawl::store::mysql {

namespace {

/// In an id; the lock's row has the whole name.
constexpr std::size_t longest_name = 160;

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

}  // namespace

std::string Recorded::folder() const {
  const std::string& prefix = server_->config().prefix;
  const std::string_view scheme = capabilities().scheme;
  // No prefix has a "~".
  return scheme == Queue::declared.scheme ? prefix + "/" : prefix + "~" + std::string(scheme) + "/";
}

std::string Recorded::lock_in_folder(const LockKey& key) {
  return std::string(to_string(key.kind)) + ":" + base::fit_name(key.name.bytes(), longest_name);
}

std::vector<std::string> Recorded::words_of(const Claim& claim) const {
  return {to_string(claim.id), to_string(claim.session), lock_id(claim.key)};
}

Result<bool> Recorded::yes_or_no(const Result<std::vector<Row>>& rows) {
  if (!rows) return rows.error();
  if (rows->size() != 1 || rows->front().empty()) return unexpected();
  return rows->front().front() == "1";
}

awaitable<Result<Withdrawn>> Recorded::withdraw_record(Claim claim, Withdrawal how, Deadline deadline) {
  std::vector<std::string> words = words_of(claim);
  words.emplace_back(how.ending == Ending::failed ? "1" : "0");
  words.emplace_back(how.unsettled ? "1" : "0");
  Result<std::vector<Row>> rows = co_await server_->run("withdraw", std::move(words), deadline);
  const Result<bool> done = yes_or_no(rows);
  if (!done) co_return done.error();
  co_return *done ? Withdrawn::done : Withdrawn::not_there;
}

awaitable<Result<Withdrawn>> Recorded::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  return withdraw_record(claim, how, deadline);
}

awaitable<Result<Standing>> Recorded::look(Claim claim, Deadline deadline) {
  Result<std::vector<Row>> rows = co_await server_->run("look", words_of(claim), deadline);
  if (!rows) co_return rows.error();
  co_return standing_of(*rows);
}

awaitable<Result<void>> Recorded::relabel(Claim claim, Deadline deadline) {
  std::vector<std::string> words = words_of(claim);
  words.push_back(claim.label);
  Result<std::vector<Row>> rows = co_await server_->run("relabel", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return Result<void>();
}

awaitable<Result<std::vector<Row>>> Recorded::claims_of(std::string first, std::string end, std::string prefix,
                                                        Deadline deadline) {
  constexpr std::size_t page = 500;  // of pawl_inspect
  std::vector<Row> all;
  std::string lock = std::move(first), state = "-1", ticket = "0";
  for (;;) {
    // Whatever waits for the connection goes ahead of the next page.
    std::vector<std::string> words{lock, end, prefix, state, ticket};
    Result<std::vector<Row>> rows = co_await server_->run("inspect", std::move(words), deadline);
    if (!rows) co_return rows.error();
    const bool last = rows->size() < page;
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
    if (last) co_return all;
    lock = all.back().at(0);
    state = all.back().at(1);
    ticket = all.back().at(2);
  }
}

awaitable<Result<LockView>> Recorded::inspect(LockKey key, Deadline deadline) {
  Result<std::vector<Row>> rows = co_await claims_of(lock_id(key), std::string(), std::string(), deadline);
  if (!rows) co_return rows.error();
  std::vector<LockView> views = views_of(*rows, capabilities().scheme);
  if (!views.empty()) co_return std::move(views.front());
  LockView unused{.kind = key.kind, .scheme = std::string(capabilities().scheme), .name = key.name.bytes()};
  co_return unused;
}

awaitable<Result<std::vector<LockView>>> Recorded::list(std::string prefix, Deadline deadline) {
  std::string end = folder();
  ++end.back();  // behind all that begin with it
  Result<std::vector<Row>> rows = co_await claims_of(folder(), std::move(end), std::move(prefix), deadline);
  if (!rows) co_return rows.error();
  std::vector<LockView> views = views_of(*rows, capabilities().scheme);
  std::sort(views.begin(), views.end(), [](const LockView& one, const LockView& other) {
    return std::tie(one.kind, one.name) < std::tie(other.kind, other.name);
  });
  co_return views;
}

awaitable<Result<bool>> Recorded::check(LockKey key, Token token, Deadline deadline) {
  std::vector<std::string> words{lock_id(key), std::to_string(token.epoch()), std::to_string(token.counter())};
  Result<std::vector<Row>> rows = co_await server_->run("check", std::move(words), deadline);
  co_return yes_or_no(rows);
}

awaitable<Result<bool>> Recorded::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  std::vector<std::string> words{to_string(claim), lock_id(key), now ? "1" : "0"};
  Result<std::vector<Row>> rows = co_await server_->run("revoke", std::move(words), deadline);
  co_return yes_or_no(rows);
}

awaitable<Result<void>> Taken::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> Taken::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

Result<void> Taken::check_mutex(const Claim& claim) {
  if (claim.key.kind != Kind::mutex) return only_mutexes();
  return check_sound(claim, std::nullopt);
}

std::vector<std::string> Taken::words_to_take(const Claim& claim) const {
  std::vector<std::string> words = words_of(claim);
  words.push_back(claim.key.name.bytes());
  words.push_back(microseconds(claim.lease));
  words.push_back(microseconds(claim.lock_delay));
  words.emplace_back(claim.may_queue ? "1" : "0");
  words.push_back(claim.label);
  return words;
}

}  // namespace pawl::store::mysql
