#include "tests/support/naive_redis.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/torture/stage.hpp"

#include <string>
#include <utility>

namespace pawl::torture {

namespace {

/// Five nodes without persistence: one that is killed is wiped. Never so many that the rest is no majority of members, which only
/// an operator could mend.
class RedlockStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override { return servers_.ports(); }
  std::string url(const std::vector<std::uint16_t>& ports) const override {
    return "redlock://" + hosts_at(ports) + "?node_timeout=200ms&delay=50ms&prefix=" + prefix;
  }

  std::vector<Fault> faults() override {
    std::vector<Fault> all;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      test::RedisServer& server = servers_[i];
      const std::string node = " node " + std::to_string(i + 1);
      all.push_back({"stopped" + node, group, [&server](Chance&) -> Fault::Steps {
                       server.stop();
                       return {{.act = [&server] { server.go_on(); }}};
                     }});
      all.push_back({"wiped and restarted" + node, group, [this, i, &server](Chance&) -> Fault::Steps {
                       if (!others_are_a_majority(i)) return {};
                       server.kill();
                       return {{.act = [&server] { server.start(); }}};
                     }});
      all.push_back({"FLUSHALL on" + node, group, [this, i, &server](Chance&) -> Fault::Steps {
                       if (others_are_a_majority(i)) server.cli({"FLUSHALL"});
                       return {};
                     }});
    }
    return all;
  }

  // Tombstones end within the minute; what a node knows of absent ones ends by itself.
  std::vector<std::string> leftovers() override {
    std::vector<std::string> left;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      test::naive::Redis redis(servers_[i].port());
      const std::string found = redis.call({"EVAL", left_on_node, "0", prefix}).value_or("");
      if (!found.empty()) left.push_back("node " + std::to_string(i + 1) + ": " + found);
    }
    return left;
  }

 private:
  static constexpr const char* prefix = "t:";
  static constexpr const char* group = "node";
  static constexpr const char* left_on_node = R"(
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local rest = string.sub(key, #ARGV[1] + 1)
  local declared = rest == 'meta' or rest == 'counters'
  if redis.call('PTTL', key) ~= -1 then
    declared = declared or string.sub(rest, 1, 2) == 'x:' or string.sub(rest, 1, 7) == 'absent:'
  end
  if not declared then found[#found + 1] = key end
end
return table.concat(found, ' ')
)";

  /// Of the others, as many are members of the highest epoch, in their present life, as are a majority.
  bool others_are_a_majority(std::size_t besides) {
    std::size_t members = 0;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (i == besides) continue;
      test::naive::Redis redis(servers_[i].port());
      const std::string life = redis.call({"HGET", std::string(prefix) + "meta", "life"}).value_or("");
      const std::string info = redis.call({"INFO", "server"}).value_or("");
      members += !life.empty() && info.find(life.substr(0, life.find(':'))) != std::string::npos ? 1 : 0;
    }
    return 2 * members > servers_.size();
  }

  test::RedisServers servers_{5};
};

}  // namespace

std::unique_ptr<Stage> redlock_stage() { return std::make_unique<RedlockStage>(); }

}  // namespace pawl::torture
