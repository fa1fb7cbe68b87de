#include "tests/support/etcd_server.hpp"
#include "tests/torture/stage.hpp"

#include <utility>

namespace pawl::torture {

namespace {

using test::EtcdCluster;
using test::EtcdOptions;
using test::EtcdRecord;
using test::EtcdServer;

/// All but the epoch. What has a lease that is not renewed ends with it.
std::vector<std::string> left_at(const EtcdServer& server) {
  std::vector<std::string> left;
  for (const EtcdRecord& record : server.records("pawl/")) {
    if (record.key != "pawl/epoch") left.push_back("the key " + record.key);
  }
  const std::size_t leases = server.leases().size();
  if (leases > 0) left.push_back(std::to_string(leases) + " leases");
  return left;
}

class EtcdStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  std::string url(const std::vector<std::uint16_t>& ports) const override { return "etcd://" + hosts_at(ports); }
  std::vector<Fault> faults() override { return server_faults(server_); }
  std::vector<std::string> leftovers() override { return left_at(server_); }

 private:
  EtcdServer server_;
};

/// Of three members one at a time fails: two go on, and elect another leader if it was that.
class ClusterStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override {
    return {members_[0].port(), members_[1].port(), members_[2].port()};
  }
  std::string url(const std::vector<std::uint16_t>& ports) const override { return "etcd://" + hosts_at(ports); }

  std::vector<Fault> faults() override {
    return {one_fails("member stopped", &EtcdCluster::stop, &EtcdCluster::go_on),
            one_fails("member killed", &EtcdCluster::kill, &EtcdCluster::start),
            one_fails("member cut off from the others", &EtcdCluster::cut, &EtcdCluster::heal)};
  }
  std::vector<std::string> leftovers() override {
    members_.wait_until_they_serve();
    return left_at(members_[0]);
  }

 private:
  using Change = void (EtcdCluster::*)(std::size_t);
  Fault one_fails(const char* name, Change begin, Change end) {
    return {name, "server", [this, begin, end](Chance& chance) -> Fault::Steps {
              const std::size_t i = chance.below(EtcdCluster::size);
              (members_.*begin)(i);
              return {{.act = [this, end, i] { (members_.*end)(i); }}};
            }};
  }

  EtcdCluster members_;
};

}  // namespace

std::unique_ptr<Stage> etcd_stage() { return std::make_unique<EtcdStage>(); }
std::unique_ptr<Stage> etcd_cluster_stage() { return std::make_unique<ClusterStage>(); }

}  // namespace pawl::torture
