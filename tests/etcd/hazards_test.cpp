// An accident that the usual recipe on etcd is known for: docs/hazards.md#a-waiter-whose-lease-has-ended. It happens to the
// recipe as it is often written; weather_test.cpp does the same things to pawl.

#include "tests/support/etcd_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace pawl {
namespace {

using test::EtcdRecord;
using test::EtcdServer;

/// THE WRONG WAY, on purpose: a key with a lease, and whoever finds no older key holds the lock. It never asks whether its own
/// key is still there.
class NaiveRecipe {
 public:
  NaiveRecipe(const EtcdServer& server, std::string folder, const std::string& who)
      : server_(server), folder_(std::move(folder)), key_(folder_ + who) {
    std::istringstream granted(server_.must_ctl({"lease", "grant", "60"}));  // "lease 694d... granted with TTL(60s)"
    std::string word, id;
    granted >> word >> id;
    server_.must_ctl({"put", key_, who, "--lease=" + id});
    own_ = record().value();
  }
  bool is_its_turn() const {
    const std::vector<EtcdRecord> line = server_.records(folder_);
    return std::none_of(line.begin(), line.end(),
                        [&](const EtcdRecord& other) { return other.create_revision < own_.create_revision; });
  }
  bool key_is_there() const { return record().has_value(); }
  void lose_the_lease() const { server_.revoke(own_.lease); }
  void release() const { server_.must_ctl({"del", key_}); }

 private:
  std::optional<EtcdRecord> record() const {
    for (const EtcdRecord& found : server_.records(folder_)) {
      if (found.key == key_) return found;
    }
    return std::nullopt;
  }

  const EtcdServer& server_;
  const std::string folder_, key_;
  EtcdRecord own_;
};

TEST(NaiveEtcdLock, AWaiterWhoseLeaseHasEndedBelievesThatItIsItsTurn) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string folder = "naive-recipe/";
  const NaiveRecipe alice(server, folder, "alice"), bob(server, folder, "bob");
  ASSERT_TRUE(alice.is_its_turn());
  ASSERT_FALSE(bob.is_its_turn());
  bob.lose_the_lease();  // as when he was cut off for longer than his lease
  ASSERT_FALSE(bob.key_is_there());
  alice.release();
  const NaiveRecipe carol(server, folder, "carol");
  EXPECT_TRUE(carol.is_its_turn());
  EXPECT_TRUE(bob.is_its_turn()) << "the accident: two hold the lock";
}

}  // namespace
}  // namespace pawl
