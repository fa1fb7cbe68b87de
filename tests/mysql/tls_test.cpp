// TLS to a MariaDB server: what is trusted, and what is refused.

#include "tests/support/mysql_server.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::MysqlServer;
using testing::HasSubstr;

/// A server with TLS, its certificate made for `name`, and the authority that has signed it.
class MysqlTlsServer {
 public:
  explicit MysqlTlsServer(const std::string& name) : name_(name), server_(options()) {}

  std::string url(const std::string& query) const { return server_.url("?timeout=30s" + query); }
  std::string ca() const { return folder_.path() + "/ca.crt"; }
  MysqlServer& server() { return server_; }

 private:
  std::vector<std::string> options() const {
    const std::string in = "cd '" + folder_.path() + "' && ";
    const std::vector<std::string> steps = {
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt",
        "openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
        "printf 'subjectAltName=" + name_ +
            "' > san.cnf && openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key "
            "-CAcreateserial -days 2 -extfile san.cnf -out server.crt"};
    for (const std::string& step : steps) {
      if (std::system((in + "(" + step + ") >/dev/null 2>&1").c_str()) != 0) throw std::runtime_error(step);
    }
    const std::string at = folder_.path() + "/";
    return {"--ssl-cert=" + at + "server.crt", "--ssl-key=" + at + "server.key", "--ssl-ca=" + at + "ca.crt"};
  }

  const std::string name_;
  test::TemporaryFolder folder_;
  MysqlServer server_;
};

Error tls_error_of(const std::string& url) {
  const Result<Client> client = Client::open(url);
  return client ? Error{} : client.error();
}

TEST(MysqlTls, AServerWithTheRightNameIsTrustedAndTheConnectionIsEncrypted) {
  MysqlTlsServer server("IP:127.0.0.1");
  server.server().root().query("ALTER USER pawl@'%' REQUIRE SSL");
  Client client(server.url("&ca=" + server.ca()));
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(tls_error_of(server.url("")).code, Errc::permission_denied) << "without TLS";
}

TEST(MysqlTls, AWrongNameIsRefused) {
  MysqlTlsServer server("DNS:elsewhere.example");
  const Error error = tls_error_of(server.url("&ca=" + server.ca()));
  EXPECT_EQ(error.code, Errc::permission_denied) << error.message;
  EXPECT_THAT(error.message, HasSubstr("TLS"));
}

TEST(MysqlTls, AnUnknownAuthorityIsRefused) {
  MysqlTlsServer server("IP:127.0.0.1"), other("IP:127.0.0.1");
  const Error error = tls_error_of(server.url("&ca=" + other.ca()));
  EXPECT_EQ(error.code, Errc::permission_denied) << error.message;
}

TEST(MysqlTls, AServerWithoutItIsRefused) {
  MysqlTlsServer other("IP:127.0.0.1");
  const std::string url = MysqlServer::shared().url("?timeout=2s&ca=" + other.ca());
  EXPECT_NE(tls_error_of(url).code, Errc{});
}

}  // namespace
}  // namespace pawl
