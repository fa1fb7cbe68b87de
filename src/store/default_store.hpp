#pragma once

#include <pawl/result.hpp>

#include <string>

namespace pawl::store {

/// The store that is meant when none is named: PAWL_STORE, else file:///var/lib/pawl for root and
/// file://<home>/.local/state/pawl for others, the home as the user database tells it: a shell and cron, whose
/// environments differ, must meet in one folder.
/// Errors: invalid_argument when the user has no home.
Result<std::string> default_store_url();
/// By PAWL_STORE.
bool default_store_is_named();

}  // namespace pawl::store
