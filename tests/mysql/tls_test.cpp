// TLS and login at a MariaDB server: what is trusted, what is refused, and what is warned of.

#include "base/log.hpp"
#include "tests/support/mysql_server.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
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
  std::string ca() const { return file("ca.crt"); }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
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

TEST(MysqlTls, AServerThatWantsACertificateOfTheClientGetsIt) {
  MysqlTlsServer server("IP:127.0.0.1");
  server.server().root().query("ALTER USER pawl@'%' REQUIRE X509");
  EXPECT_EQ(tls_error_of(server.url("&ca=" + server.ca())).code, Errc::permission_denied) << "without one";
  Client client(
      server.url("&ca=" + server.ca() + "&cert=" + server.file("server.crt") + "&key=" + server.file("server.key")));
  EXPECT_TRUE(client.mutex("job").acquire());
}

TEST(MysqlLogin, AProgramMayGiveUserAndPasswordItself) {
  const std::string url = "mysql://127.0.0.1:" + std::to_string(MysqlServer::shared().port()) + "/pawl?prefix=login";
  std::atomic<int> asked = 0;
  ClientOptions options;
  options.credentials = [&asked]() -> Result<Credentials> {
    ++asked;
    return Credentials{"pawl", "secret"};
  };
  Client client(url, options);
  EXPECT_TRUE(client.mutex("job").acquire());
  EXPECT_GE(asked, 2) << "for each connection";
  options.credentials = []() -> Result<Credentials> { return Credentials{"pawl", "another"}; };
  const Result<Client> refused = Client::open(url, options);
  EXPECT_EQ(refused.code(), Errc::permission_denied);
}

/// What is logged while it lives.
class Logged {
 public:
  Logged()
      : before_(base::replace_log_sink([this](base::Level, std::string_view text) {
          const std::lock_guard lock(mutex_);
          text_ += std::string(text) + "\n";
        })) {}
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  ~Logged() { base::replace_log_sink(before_); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;  // guarded by mutex_
  const base::LogSink before_;
};

TEST(MysqlLogin, APasswordThatLeavesTheMachineWithoutTlsIsWarnedOfOnce) {
  const std::string port = std::to_string(MysqlServer::shared().port());
  Logged logged;
  { ASSERT_TRUE(Client("mysql://pawl:secret@127.0.0.1:" + port + "/pawl?prefix=here").mutex("job").acquire()); }
  EXPECT_EQ(logged.text(), "");
  // This machine, by an address that does not say so.
  { ASSERT_TRUE(Client("mysql://pawl:secret@0.0.0.0:" + port + "/pawl?prefix=there").mutex("job").acquire()); }
  const std::string text = logged.text();
  EXPECT_THAT(text, HasSubstr("not encrypted"));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

}  // namespace
}  // namespace pawl
