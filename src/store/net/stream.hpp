#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pawl::store::net {

using base::awaitable;
using base::Deadline;

/// Bytes to and from a server: TCP, a Unix socket, or TLS.
/// Errors: store_unavailable, with a sentence that names the server; permission_denied for what TLS does not trust.
/// Threads: on the executor only. One read and one write at a time.
class Stream {
 public:
  explicit Stream(base::Runtime& runtime);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Names are looked up, and every address is tried, until the deadline.
  awaitable<Result<void>> connect(Address address, Deadline deadline);
  /// Waits for some bytes.
  awaitable<Result<std::size_t>> read(std::span<char> into);
  awaitable<Result<void>> write(std::string_view bytes);
  /// As many bytes as can be written without waiting.
  std::size_t write_now(std::string_view bytes);
  /// Whatever is under way ends with an error.
  void close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // of this life; shared with what is under way
};

}  // namespace pawl::store::net
