#include "store/credentials.hpp"

#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace pawl::store {

namespace {

/// The first line of the file.
Result<Credentials> read_password(const std::string& file) {
  std::ifstream in(file);
  Credentials credentials;
  if (!std::getline(in, credentials.password)) {
    const bool inherited = file.starts_with("/proc/self/fd/");
    return Error{Errc::permission_denied,
                 "no password can be read from " + base::printable(file) +
                     (inherited ? " (it was closed by a program in between, as sudo does)" : "")};
  }
  return credentials;
}

}  // namespace

awaitable<Result<std::optional<base::Credentials>>> find_credentials(base::Runtime& runtime, CredentialSource source) {
  const auto found = std::make_shared<Result<Credentials>>(Credentials());
  std::function<void()> look;
  std::string lane = "credentials";
  if (source.ask) {
    look = [found, ask = source.ask] { *found = ask(); };
    lane += fmt::format(" {}", source.client);
  } else if (!source.password_file.empty()) {
    look = [found, file = source.password_file] { *found = read_password(file); };
    lane += " " + source.password_file;
  } else {
    co_return source.from_url;
  }
  co_await runtime.offload(lane, look);
  if (!*found) co_return found->error();
  Credentials& credentials = found->value();
  if (credentials.user.empty() && source.from_url) credentials.user = source.from_url->expose().user;
  const base::Credentials::Exposed words{credentials.user, credentials.password};
  co_return std::optional<base::Credentials>(base::Credentials(words));
}

}  // namespace pawl::store
