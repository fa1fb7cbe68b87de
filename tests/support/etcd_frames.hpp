#pragma once

#include "tests/support/proxy.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pawl::test {

/// A message between a client and etcd.
struct EtcdMessage {
  std::string method = {};   ///< "Txn", "Range", "LeaseKeepAlive"...
  std::string message = {};  ///< as protobuf writes it; of a failure, empty
  std::string failure = {};  ///< of replies: what gRPC says of a call that has failed, "etcdserver: no leader"
  std::int64_t stream = 0;   ///< of HTTP/2: of one connection, those with the same number are one call

  // Of requests:

  /// Whether a part of it is about a range of keys: of those the server may have to look at many.
  bool has_a_range() const;
  /// Of the keys that it names, one that contains this.
  bool names(const std::string& part) const;
};

/// How gRPC's messages are framed on HTTP/2, for each connection anew. A request is called by its method; a message on the
/// stream of watches or of keepalives counts as one. `asked` is told of each, and of each "PING", which is not counted;
/// `answered` of each reply, and of each call that fails. On the proxy's thread.
/// Limit: of several messages in one frame, the first gives the name. Fault::swallow_reply is for those two streams only.
std::function<Framing()> etcd_framing(std::function<void(const EtcdMessage&)> asked = {},
                                      std::function<void(const EtcdMessage&)> answered = {});

/// What a frame carries, if it is one whole message: for Proxy::Match.
std::string etcd_message(std::string_view frame);

}  // namespace pawl::test
