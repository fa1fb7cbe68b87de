#include "store/net/tls.hpp"

#include "base/lock_name.hpp"

#include <openssl/ssl.h>

#include <utility>

namespace pawl::store::net {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

Error cannot(const std::string& what, const std::string& file, const error_code& why) {
  return {Errc::invalid_argument, what + " \"" + base::printable(file, 300) + "\" cannot be used: " + why.message()};
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const Files& files, std::string_view protocol) {
  std::shared_ptr<TlsContext> made(new TlsContext);
  ssl::context& context = made->context_;
  ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  if (!protocol.empty()) {
    made->protocol_ = protocol;
    const std::string offered = static_cast<char>(protocol.size()) + made->protocol_;
    ::SSL_CTX_set_alpn_protos(context.native_handle(), reinterpret_cast<const unsigned char*>(offered.data()),
                              static_cast<unsigned>(offered.size()));
  }
  error_code error;
  context.set_verify_mode(ssl::verify_peer);
  if (files.ca.empty()) {
    context.set_default_verify_paths(error);
    if (error) return cannot("the system's certificates", "", error);
  } else {
    context.load_verify_file(files.ca, error);
    if (error) return cannot("ca", files.ca, error);
  }
  if (files.cert.empty() != files.key.empty()) {
    return Error{Errc::invalid_argument, "cert and key belong together: one of them is missing"};
  }
  if (files.cert.empty()) return std::shared_ptr<const TlsContext>(std::move(made));
  context.use_certificate_chain_file(files.cert, error);
  if (error) return cannot("cert", files.cert, error);
  context.use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return cannot("key", files.key, error);
  return std::shared_ptr<const TlsContext>(std::move(made));
}

}  // namespace pawl::store::net
