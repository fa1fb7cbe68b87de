#pragma once

#include "apps/cli/run/under_lock.hpp"

#include <pawl/client.hpp>

#include <vector>

namespace pawl::cli {

/// A run excludes only those who use the same kind of lock. Throws Failure (125) if another kind of one of these names is
/// held or waited for. Nothing is refused where the store does not tell: what is wrong then, the wait itself will say.
void refuse_other_kinds(Client& client, const std::vector<Wanted>& all);

}  // namespace pawl::cli
