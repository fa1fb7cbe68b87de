#pragma once

#include "store/claim.hpp"
#include "store/redis/reply.hpp"
#include "store/rules.hpp"
#include "store/store.hpp"

#include <pawl/lock_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the scripts answer, as values of the port.
namespace pawl::store::redis {

std::string milliseconds(Duration duration);
Duration from_milliseconds(const Reply& reply);
std::uint64_t whole(std::string_view text);
Token token_of(const Reply& epoch, const Reply& counter);
Slots slots_of(const Reply& reply);

Result<ClaimState> state_of(const Reply& reply, const Claim& claim);
Standing standing_of(const Reply& reply);
/// Of at least two items.
Renewal renewal_of(const Reply& reply);
/// Nothing: nobody uses it.
std::optional<LockView> view_of(const LockKey& key, std::string_view scheme, const Reply& reply);

Error unexpected();

}  // namespace pawl::store::redis
