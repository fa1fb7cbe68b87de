#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/capabilities.hpp"
#include "store/store.hpp"

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace pawl::store {

/// What every store's URL may say in its query. The client reads these; a store reads its own.
inline constexpr std::array<std::string_view, 6> common_options = {"scheme",   "lease",   "lock_delay",
                                                                   "max_hold", "timeout", "owner"};

/// The store that a URL names, not connected yet.
/// Errors: invalid_argument for an unknown store, and for an option that neither it nor the client knows.
Result<std::shared_ptr<Store>> open_store(const base::Url& url, base::Runtime& runtime);

/// Every scheme of every store in this build; the first one of a store is its default.
std::vector<const Capabilities*> all_capabilities();

}  // namespace pawl::store
