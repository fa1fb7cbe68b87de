#include "store/mysql/unique.hpp"

#include "store/mysql/answers.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

constexpr Capabilities Unique::declared = {
    .store = "mysql",
    .scheme = "unique",
    .summary = "a row with a unique index: INSERT to acquire, DELETE to release",
    .wakes_waiters = true,
    .lock_delay = true,
    .revocable = true,
    .survives_restart = true,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in a table, with an epoch for each start of the server",
    .on_client_death = "when its lease ends",
};

awaitable<Result<ClaimState>> Unique::claim(Claim claim, Deadline deadline) {
  if (auto mutex = check_mutex(claim); !mutex) co_return mutex.error();
  Result<std::vector<Row>> rows = co_await server_->run("unique_claim", words_to_take(claim), deadline);
  if (!rows) co_return rows.error();
  co_return state_of(*rows, claim);
}

}  // namespace pawl::store::mysql
