#pragma once

#include "base/time.hpp"
#include "store/claim.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// What the `queue` schemes agree on, whatever they keep their records in.
namespace pawl::store {

/// Which permits of a semaphore.
using Slots = std::vector<std::uint32_t>;

/// A holder that failed: it keeps its place, and its permits, for its lock-delay.
struct Ghost {
  base::Time until = {};
  Mode mode = Mode::exclusive;
  Slots slots = {};
};

/// Can there be such a claim at all? `agreed`: how many permits those who use the lock now have agreed on; unset when
/// nobody does. Errors: invalid_argument.
Result<void> check_sound(const Claim& claim, std::optional<std::uint32_t> agreed);

/// Who has the lock now, as far as it matters to the next one.
struct Occupied {
  bool by_exclusive = false;
  bool by_anybody = false;
  std::uint32_t free_permits = 0;
};

/// An exclusive claim fits beside nobody, a shared one beside shared ones, permits while there are enough left.
bool fits(Kind kind, Mode mode, std::uint32_t wanted, const Occupied& occupied);

/// Of the permits in use: how many are held, and how many are in lock-delay.
Waiting::Permits divide(std::uint32_t used, const std::vector<Ghost>& ghosts);

/// It says nothing about the lock: asking again may help.
bool may_pass(Errc code);

/// A waiter asks again by itself; a holder has nothing to ask but whether there is news, and these are.
bool is_news_to_a_holder(Notice::What what);

}  // namespace pawl::store
