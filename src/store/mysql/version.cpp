#include "store/mysql/version.hpp"

#include "store/mysql/answers.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::store::mysql {

namespace {

constexpr Duration shortest_pause = std::chrono::milliseconds(2);
constexpr Duration longest_pause = std::chrono::milliseconds(250);

}  // namespace

constexpr Capabilities Version::declared = {
    .store = "mysql",
    .scheme = "version",
    .summary = "optimistic: read the version, UPDATE where it is still the same, back off and try again",
    .revocable = true,
    .survives_restart = true,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in a table, with an epoch for each start of the server",
    .on_client_death = "when its lease ends",
};

awaitable<Result<ClaimState>> Version::claim(Claim claim, Deadline deadline) {
  if (auto mutex = check_mutex(claim); !mutex) co_return mutex.error();
  Result<Seen> seen = co_await read(claim, deadline);
  if (!seen) co_return seen.error();
  if (seen->held && seen->waits) co_return ClaimState{lost(claim)};
  Result<ClaimState> state = co_await compare_and_update(claim, seen->version, deadline);
  if (!state) co_return state;
  if (auto* const waiting = std::get_if<Waiting>(&*state)) waiting->look_again_in = lost(claim).look_again_in;
  co_return state;
}

awaitable<Result<Version::Seen>> Version::read(Claim claim, Deadline deadline) {
  std::vector<std::string> words{lock_id(claim.key), to_string(claim.id)};
  Result<std::vector<Row>> rows = co_await server_->run("version_read", std::move(words), deadline);
  if (!rows) co_return rows.error();
  if (rows->size() != 1 || rows->front().size() != 3) co_return unexpected();
  const Row& row = rows->front();
  Seen seen;
  seen.version = row[0];
  seen.held = row[1] == "1";
  seen.waits = row[2] == "1";
  co_return seen;
}

// One row changed: it is ours. None: somebody else was faster.
awaitable<Result<ClaimState>> Version::compare_and_update(Claim claim, std::string version, Deadline deadline) {
  std::vector<std::string> words = words_to_take(claim);
  words.push_back(std::move(version));
  Result<std::vector<Row>> rows = co_await server_->run("version_claim", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return state_of(*rows, claim);
}

Waiting Version::lost(const Claim& claim) {
  net::Backoff& backoff =
      losers_.try_emplace(claim.id, server_->runtime(), shortest_pause, longest_pause).first->second;
  return Waiting{std::min<Duration>(backoff.next(), claim.lease / 3)};
}

void Version::unwatch(ClaimId claim) {
  losers_.erase(claim);
  Taken::unwatch(claim);
}

}  // namespace pawl::store::mysql
