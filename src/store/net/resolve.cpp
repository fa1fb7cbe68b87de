#include "store/net/resolve.hpp"

#include "base/wakeup.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace pawl::store::net {

namespace {

using Endpoints = std::vector<Endpoint>;

Result<Endpoints> look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    return Error{Errc::store_unavailable, address.to_string() + " cannot be looked up: " + ::gai_strerror(failed)};
  }
  Endpoints endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    endpoints.emplace_back(one->ai_addr, one->ai_addrlen);
  }
  ::freeaddrinfo(found);
  return endpoints;
}

/// Shared with the thread that looks it up: nobody may be waiting any more when it comes back.
struct LookUp {
  explicit LookUp(base::Runtime& runtime) : done(runtime) {}
  std::optional<Result<Endpoints>> result;
  base::Wakeup done;
};

base::awaitable<void> look_up_elsewhere(base::Runtime& runtime, Address address, std::shared_ptr<LookUp> look) {
  const auto result = std::make_shared<std::optional<Result<Endpoints>>>();
  const std::function<void()> work = [address, result] { result->emplace(look_up(address, 0)); };
  const std::string lane = "name " + address.host;
  try {
    co_await runtime.offload(lane, work);
  } catch (const std::system_error& error) {
    result->emplace(Error{Errc::store_unavailable, address.to_string() + " cannot be looked up: " + error.what()});
  }
  look->result = std::move(*result);
  look->done.notify();
}

}  // namespace

base::awaitable<Result<Endpoints>> resolve(base::Runtime& runtime, Address address, base::Deadline deadline) {
  if (!address.path.empty()) {
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      co_return Error{Errc::invalid_argument, "the path of a Unix socket can have 107 bytes at the most"};
    }
    const Endpoints endpoints{Endpoint(boost::asio::local::stream_protocol::endpoint(address.path))};
    co_return endpoints;
  }
  Result<Endpoints> numeric = look_up(address, AI_NUMERICHOST);
  if (numeric) co_return numeric;
  const auto look = std::make_shared<LookUp>(runtime);
  base::spawn(runtime, look_up_elsewhere(runtime, address, look));
  co_await look->done.wait(deadline.at);
  if (look->result) co_return *look->result;
  co_return Error{Errc::store_unavailable, address.to_string() + " was not found in time"};
}

}  // namespace pawl::store::net
