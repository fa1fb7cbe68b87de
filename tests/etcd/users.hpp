#pragma once

#include "tests/support/etcd_server.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// etcd with users, tokens and certificates.
namespace pawl::test {

inline void run_all(const std::string& folder, const std::vector<std::string>& steps) {
  for (const std::string& step : steps) {
    const std::string command = "cd '" + folder + "' && (" + step + ") >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(step);
  }
}

/// root may do everything, alice what begins with "alice/".
class ServerWithUsers {
 public:
  explicit ServerWithUsers(std::vector<std::string> flags = {}) : server_(options(std::move(flags))) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"user", "add", "root:secret"},
             {"user", "grant-role", "root", "root"},
             {"role", "add", "alice"},
             {"role", "grant-permission", "alice", "readwrite", "--prefix=true", "alice/"},
             {"user", "add", "alice:pw"},
             {"user", "grant-role", "alice", "alice"},
             {"auth", "enable"}}) {
      server_.must_ctl(words);
    }
  }
  EtcdServer& server() { return server_; }
  std::string url(const std::string& user, const std::string& query = {}) const {
    return "etcd://" + user + "@" + server_.address() + query;
  }

 private:
  static EtcdOptions options(std::vector<std::string> flags) {
    EtcdOptions options;
    options.flags = std::move(flags);
    options.ctl = {"--user", "root:secret"};
    return options;
  }
  EtcdServer server_;
};

/// A key for tokens that say themselves who has them, until when, and of which revision of the users they are.
class JwtKey {
 public:
  JwtKey() {
    run_all(folder_.path(), {"openssl genrsa -out jwt.key 2048", "openssl rsa -in jwt.key -pubout -out jwt.pub"});
  }
  /// `life`: of a token, "2s".
  std::vector<std::string> flags(const std::string& life) const {
    return {"--auth-token", "jwt,pub-key=" + folder_ / "jwt.pub" + ",priv-key=" + folder_ / "jwt.key" +
                                ",sign-method=RS256,ttl=" + life};
  }

 private:
  const TemporaryFolder folder_;
};

/// Certificates of a server called `name` and of a client, and the authority that has signed both.
class Certificates {
 public:
  explicit Certificates(const std::string& name) {
    run_all(folder_.path(),
            {"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt",
             "printf 'subjectAltName=" + name + "' > san.cnf", sign("server", "-extfile san.cnf"), sign("client", "")});
  }
  std::string operator/(const std::string& file) const { return folder_ / file; }
  EtcdOptions server() const {
    EtcdOptions options;
    options.tls = true;
    options.flags = {"--cert-file",       *this / "server.crt", "--key-file",        *this / "server.key",
                     "--trusted-ca-file", *this / "ca.crt",     "--client-cert-auth"};
    return options;
  }
  std::string ca() const { return "?timeout=2s&ca=" + *this / "ca.crt"; }
  std::string both() const { return ca() + "&cert=" + *this / "client.crt" + "&key=" + *this / "client.key"; }

 private:
  static std::string sign(const std::string& who, const std::string& more) {
    return "openssl req -newkey rsa:2048 -nodes -subj /CN=" + who + " -keyout " + who + ".key -out " + who +
           ".csr && openssl x509 -req -in " + who + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 " + more +
           " -out " + who + ".crt";
  }
  const TemporaryFolder folder_;
};

}  // namespace pawl::test
