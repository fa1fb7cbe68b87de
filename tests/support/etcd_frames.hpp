#pragma once

#include "tests/support/proxy.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace pawl::test {

/// A message from a client to etcd.
struct EtcdRequest {
  std::string method = {};   ///< "Txn", "Range", "LeaseKeepAlive"...
  std::string message = {};  ///< as protobuf writes it

  /// Whether a part of it is about a range of keys: of those the server may have to look at many.
  bool has_a_range() const;
  /// Of the keys that it names, one that contains this.
  bool names(const std::string& part) const;
};

/// How gRPC's messages are framed on HTTP/2, for each connection anew. A request is called by its method; a message on the
/// stream of watches or of keepalives counts as one. `heard` is told of each, on the proxy's thread.
/// Limit: of several messages in one frame, the first gives the name. Fault::swallow_reply is for those two streams only.
std::function<Framing()> etcd_framing(std::function<void(const EtcdRequest&)> heard = {});

/// What a frame carries, if it is one whole message: for Proxy::Match.
std::string etcd_message(std::string_view frame);

}  // namespace pawl::test
