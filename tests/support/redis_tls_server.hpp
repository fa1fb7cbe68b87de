#pragma once

#include "tests/support/redis_server.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::test {

/// A server with TLS, its certificate made for `name`, and the authority that has signed it.
class RedisTlsServer {
 public:
  explicit RedisTlsServer(const std::string& name) : name_(name), server_(options()) {}

  std::string url(const std::string& host = "127.0.0.1") const {
    return "rediss://" + host + ":" + std::to_string(tls_.number()) + "/0?timeout=1s";
  }
  /// host:port
  std::string address() const { return "127.0.0.1:" + std::to_string(tls_.number()); }
  std::string ca() const { return folder_.path() + "/ca.crt"; }
  const RedisServer& server() const { return server_; }

  /// For another server with the same certificate.
  std::vector<std::string> options_at(const Port& tls) const {
    const std::string at = folder_.path() + "/";
    return {"--tls-port",      std::to_string(tls.number()), "--tls-cert-file", at + "server.crt",    "--tls-key-file",
            at + "server.key", "--tls-ca-cert-file",         at + "ca.crt",     "--tls-auth-clients", "no"};
  }

 private:
  std::vector<std::string> options() const {
    const std::string in = "cd '" + folder_.path() + "' && ";
    const std::string quiet = " >/dev/null 2>&1";
    const std::vector<std::string> steps = {
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt",
        "openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
        "printf 'subjectAltName=" + name_ +
            "' > san.cnf && openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key "
            "-CAcreateserial -days 2 -extfile san.cnf -out server.crt"};
    for (const std::string& step : steps) {
      if (std::system((in + "(" + step + ")" + quiet).c_str()) != 0) throw std::runtime_error(step);
    }
    return options_at(tls_);
  }

  const std::string name_;
  TemporaryFolder folder_;
  Port tls_;
  RedisServer server_;
};

}  // namespace pawl::test
