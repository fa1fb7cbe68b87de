#include "tests/support/zookeeper_server.hpp"
#include "tests/torture/stage.hpp"

namespace pawl::torture {

namespace {

using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;

/// Nodes that end with a session, and watches: the folders of locks are containers, which servers remove in time.
std::vector<std::string> left_at(const ZooKeeperServer& server) {
  const std::string words = server.four_letter("mntr");
  std::vector<std::string> left;
  for (const char* name : {"zk_ephemerals_count", "zk_watch_count"}) {
    const std::size_t at = words.find(name);
    const std::string line = at == std::string::npos ? name : words.substr(at, words.find('\n', at) - at);
    if (!line.ends_with("\t0")) left.push_back(line);
  }
  return left;
}

class ZooKeeperStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  std::string url(const std::vector<std::uint16_t>& ports) const override { return "zookeeper://" + hosts_at(ports); }
  std::vector<Fault> faults() override { return server_faults(server_); }
  std::vector<std::string> leftovers() override { return left_at(server_); }

 private:
  ZooKeeperServer server_;
};

/// Of three servers one at a time fails: two go on, and have to agree on a leader if it was that.
class EnsembleStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override {
    return {servers_[0].port(), servers_[1].port(), servers_[2].port()};
  }
  std::string url(const std::vector<std::uint16_t>& ports) const override { return "zookeeper://" + hosts_at(ports); }

  std::vector<Fault> faults() override {
    return {one_fails("server stopped", &ZooKeeperEnsemble::stop, &ZooKeeperEnsemble::go_on),
            one_fails("server killed", &ZooKeeperEnsemble::kill, &ZooKeeperEnsemble::start),
            one_fails("server cut off from the others", &ZooKeeperEnsemble::cut, &ZooKeeperEnsemble::heal)};
  }
  std::vector<std::string> leftovers() override {
    servers_.wait_until_they_serve();
    std::vector<std::string> left;
    for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) {
      for (std::string& one : left_at(servers_[i])) left.push_back(std::move(one));
    }
    return left;
  }

 private:
  using Change = void (ZooKeeperEnsemble::*)(std::size_t);
  Fault one_fails(const char* name, Change begin, Change end) {
    return {name, "server", [this, begin, end](Chance& chance) -> Fault::Steps {
              const std::size_t i = chance.below(ZooKeeperEnsemble::size);
              (servers_.*begin)(i);
              return {{.act = [this, end, i] { (servers_.*end)(i); }}};
            }};
  }

  ZooKeeperEnsemble servers_;
};

}  // namespace

std::unique_ptr<Stage> zookeeper_stage() { return std::make_unique<ZooKeeperStage>(); }
std::unique_ptr<Stage> zookeeper_ensemble_stage() { return std::make_unique<EnsembleStage>(); }

}  // namespace pawl::torture
