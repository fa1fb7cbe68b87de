#pragma once

#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/store.hpp"

#include <optional>
#include <string>

namespace pawl::store {

/// Where the words come from with which a client names itself to its store.
struct CredentialSource {
  std::optional<base::Credentials> from_url = {};
  std::string password_file = {};  ///< instead of the password in the URL; read anew each time
  /// Instead of both. User code: never called on the executor.
  std::function<Result<Credentials>()> ask = {};
  const void* client = nullptr;  ///< whose: one that hangs there delays no other
};

/// Nothing: the URL names nobody. Errors: permission_denied (the file cannot be read), and what `ask` says.
awaitable<Result<std::optional<base::Credentials>>> find_credentials(base::Runtime& runtime, CredentialSource source);

}  // namespace pawl::store
