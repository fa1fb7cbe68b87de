#pragma once

#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace pawl::store::net {

/// Whom we trust, and who we are.
/// Promise: the server's certificate and name are always verified; TLS 1.2 at the least.
class TlsContext {
 public:
  using Files = TlsFiles;
  /// Errors: invalid_argument when a file cannot be read or does not fit.
  /// `protocol`: what both sides must agree to speak, by its name in ALPN ("h2"); empty: nothing is said of it.
  static Result<std::shared_ptr<const TlsContext>> make(const Files& files, std::string_view protocol = {});

  const std::string& protocol() const { return protocol_; }

  /// Asio wants to change it.
  boost::asio::ssl::context& native() const { return context_; }

 private:
  TlsContext() = default;
  std::string protocol_;
  mutable boost::asio::ssl::context context_{boost::asio::ssl::context::tls_client};
};

}  // namespace pawl::store::net
