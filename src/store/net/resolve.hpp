#pragma once

#include "base/runtime.hpp"
#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <boost/asio/generic/stream_protocol.hpp>

#include <vector>

namespace pawl::store::net {

using Endpoint = boost::asio::generic::stream_protocol::endpoint;

/// Where to connect to, in the order in which to try. The look-up runs on another thread, and is left alone there when
/// the deadline comes first.
base::awaitable<Result<std::vector<Endpoint>>> resolve(base::Runtime& runtime, Address address,
                                                       base::Deadline deadline);

}  // namespace pawl::store::net
