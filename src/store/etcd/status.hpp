#pragma once

#include <pawl/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::store::etcd {

/// gRPC's codes, with its numbers.
enum class StatusCode : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

/// How a call ended.
struct Status {
  StatusCode code = StatusCode::unknown;
  std::string message = {};
  bool unprocessed = false;  ///< it is certain that the server has not begun with it

  bool ok() const { return code == StatusCode::ok; }
};

/// What a status that is not ok means to the caller of etcd.
struct Verdict {
  enum class Next : std::uint8_t {
    give_up,    ///< no member would answer anything else
    again,      ///< the same member may be able to by now
    log_in,     ///< our token is not valid any more
    elsewhere,  ///< another member may be able to
  } next = Next::give_up;
  Errc code = Errc::store_unavailable;
  bool maybe_applied = true;
};

Verdict verdict_of(const Status& status);

/// The number in a `grpc-status` header. What is no such number is `unknown`.
StatusCode read_status_code(std::string_view text);
/// What HTTP says where gRPC says nothing: a proxy's answer, or a server that is none of gRPC's.
StatusCode code_of_http(int http_status);
/// What a reset of the stream means, by HTTP/2's error code.
Status status_of_reset(std::uint32_t error_code);
/// `grpc-message` is percent-encoded.
std::string read_status_message(std::string_view text);

}  // namespace pawl::store::etcd
