#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"

#include <pawl/result.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace pawl::store::net {

/// One connection to a server inside this process: bytes without a socket.
/// Threads: on the client's executor only. One read at a time.
class InsideLine {
 public:
  virtual ~InsideLine() = default;

  /// Waits for some bytes. Errors: store_unavailable.
  virtual base::awaitable<Result<std::size_t>> read(std::span<char> into) = 0;
  /// As many bytes as it takes; 0 when it is closed.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  /// A read that is under way ends with an error.
  virtual void close() = 0;
};

/// A server inside this process, which an Address can name instead of a host: in simulation, where nothing may depend on a
/// socket or on real time.
class InsideServer {
 public:
  virtual ~InsideServer() = default;
  virtual base::awaitable<Result<std::shared_ptr<InsideLine>>> connect(base::Runtime& client,
                                                                       base::Deadline deadline) = 0;
};

}  // namespace pawl::store::net
