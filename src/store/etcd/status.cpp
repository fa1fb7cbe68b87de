#include "store/etcd/status.hpp"

#include <nghttp2/nghttp2.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace pawl::store::etcd {

namespace {

using Next = Verdict::Next;
using Code = StatusCode;

constexpr bool applied_maybe = true;
constexpr bool applied_never = false;

struct Row {
  Code code;
  std::string_view text;  // of the message; empty: any
  Verdict verdict;
};

// The first row that fits counts. Where etcd's documents and sources leave it open whether a write was applied, it may have been.
constexpr std::array rows{
    Row{Code::unauthenticated, "", {Next::log_in, Errc::permission_denied, applied_never}},
    Row{Code::invalid_argument,
        "revision of auth store is old",
        {Next::log_in, Errc::permission_denied, applied_never}},
    Row{Code::invalid_argument, "user name is empty", {Next::log_in, Errc::permission_denied, applied_never}},
    Row{Code::invalid_argument, "authentication failed", {Next::give_up, Errc::permission_denied, applied_never}},
    Row{Code::failed_precondition, "user name not found", {Next::give_up, Errc::permission_denied, applied_never}},
    Row{Code::permission_denied, "", {Next::give_up, Errc::permission_denied, applied_never}},
    Row{Code::invalid_argument, "", {Next::give_up, Errc::invalid_argument, applied_never}},
    Row{Code::out_of_range, "", {Next::give_up, Errc::invalid_argument, applied_never}},
    Row{Code::failed_precondition, "", {Next::give_up, Errc::invalid_argument, applied_never}},
    Row{Code::not_found, "lease not found", {Next::give_up, Errc::lost, applied_never}},
    Row{Code::not_found, "", {Next::give_up, Errc::invalid_argument, applied_never}},
    Row{Code::unimplemented, "", {Next::give_up, Errc::unsupported, applied_never}},
    Row{Code::resource_exhausted, "larger than max", {Next::give_up, Errc::invalid_argument, applied_never}},
    Row{Code::resource_exhausted, "too many requests", {Next::give_up, Errc::overloaded, applied_never}},
    // etcd asks for space once before it proposes a write, and once more when it has applied it.
    Row{Code::resource_exhausted, "", {Next::give_up, Errc::overloaded, applied_maybe}},
    Row{Code::unavailable, "etcdserver: no leader", {Next::elsewhere, Errc::store_unavailable, applied_never}},
    Row{Code::unavailable, "not capable", {Next::elsewhere, Errc::store_unavailable, applied_never}},
    Row{Code::unavailable, "not supported for learner", {Next::elsewhere, Errc::store_unavailable, applied_never}},
    Row{Code::unavailable, "leader changed", {Next::again, Errc::store_unavailable, applied_maybe}},
    Row{Code::data_loss, "", {Next::give_up, Errc::store_unavailable, applied_maybe}},
};

}  // namespace

Verdict verdict_of(const Status& status) {
  if (status.unprocessed) return {Next::elsewhere, Errc::store_unavailable, applied_never};
  for (const Row& row : rows) {
    if (row.code == status.code && status.message.find(row.text) != std::string::npos) return row.verdict;
  }
  return {Next::elsewhere, Errc::store_unavailable, applied_maybe};
}

StatusCode read_status_code(std::string_view text) {
  std::uint8_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number <= static_cast<std::uint8_t>(Code::unauthenticated) ? static_cast<Code>(number)
                                                                             : Code::unknown;
}

StatusCode code_of_http(int http_status) {
  switch (http_status) {
    case 400: return Code::internal;
    case 401: return Code::unauthenticated;
    case 403: return Code::permission_denied;
    case 404: return Code::unimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return Code::unavailable;
    default: return Code::unknown;
  }
}

Status status_of_reset(std::uint32_t error_code) {
  Status status{Code::internal, std::string("the stream was reset: ") + ::nghttp2_http2_strerror(error_code)};
  if (error_code == NGHTTP2_REFUSED_STREAM) {
    status.code = Code::unavailable;
    status.unprocessed = true;
  } else if (error_code == NGHTTP2_CANCEL) {
    status.code = Code::cancelled;
  } else if (error_code == NGHTTP2_ENHANCE_YOUR_CALM) {
    status.code = Code::resource_exhausted;
  } else if (error_code == NGHTTP2_INADEQUATE_SECURITY) {
    status.code = Code::permission_denied;
  }
  return status;
}

std::string read_status_message(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint8_t byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace pawl::store::etcd
