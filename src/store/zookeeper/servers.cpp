#include "store/zookeeper/servers.hpp"

#include "store/net/resolve.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>

namespace pawl::store::zookeeper {

using base::awaitable;

namespace {

std::string numeric(const net::Endpoint& endpoint) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (endpoint.data()->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(endpoint.data());
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(endpoint.data());
  ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(v4->sin_port));
}

}  // namespace

awaitable<Result<void>> Servers::look_up(base::Runtime& runtime, base::Deadline deadline) {
  Result<void> found = Error{Errc::store_unavailable, "no server is named"};
  bool any = false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Result<std::vector<net::Endpoint>> endpoints = co_await net::resolve(runtime, names_[i], deadline);
    if (!endpoints) {
      if (!any) found = endpoints.error();
      continue;
    }
    any = true;
    found = Result<void>();
    known_[i].clear();
    for (const net::Endpoint& endpoint : *endpoints) known_[i] += (known_[i].empty() ? "" : ",") + numeric(endpoint);
  }
  co_return found;
}

std::string Servers::addresses() const {
  std::string all;
  for (const std::string& one : known_) all += (all.empty() || one.empty() ? "" : ",") + one;
  return all;
}

}  // namespace pawl::store::zookeeper
