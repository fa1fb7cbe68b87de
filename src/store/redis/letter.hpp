#pragma once

#include "store/claim.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::store::redis {

/// What a script has published for one of our claims: "<seal> <claim> <what> ...".
/// Promise: only who knows the secret of the client's sessions can write one: our client, and who may read its keys.
struct Letter {
  ClaimId claim;
  Notice notice = {};

  /// Nothing: it is not from our store. `believes`: a grant needs no more than the word of the server; otherwise the claim
  /// is asked for again.
  static std::optional<Letter> read(std::string_view text, std::string_view secret, bool believes);
};

/// A letter of this text. As common.lua writes it: the secret stands on both sides, so that nothing can be appended.
std::string sealed(std::string_view text, std::string_view secret);

}  // namespace pawl::store::redis
