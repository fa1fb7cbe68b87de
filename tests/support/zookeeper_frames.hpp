#pragma once

#include "tests/support/proxy.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::test {

/// What a server tells a client when it connects: enough to speak for the session.
struct ZooKeeperTicket {
  std::int64_t session = 0;
  std::string password = {};
};

/// How ZooKeeper's messages are framed. A request is called by its operation: "create2", "getData", "multi"; connecting is
/// "connect", and a multi that changes nothing "heartbeat". `heard` is told of every session that is opened or attached to, on the proxy's thread.
Framing zookeeper_framing(std::function<void(const ZooKeeperTicket&)> heard = {});

/// The path that a request is about; nothing where it has none, or several.
std::string zookeeper_path(std::string_view request);
/// What a request to create a node wants to write into it; of several, the first.
std::string zookeeper_data(std::string_view request);

/// Ends the session as its own client would, on a connection of its own. The client is not asked.
void end_zookeeper_session(std::uint16_t server, const ZooKeeperTicket& ticket);

}  // namespace pawl::test
