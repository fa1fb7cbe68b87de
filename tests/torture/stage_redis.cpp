#include "tests/support/redis_server.hpp"
#include "tests/torture/stage.hpp"

#include <sstream>
#include <utility>

namespace pawl::torture {

namespace {

class RedisStage : public Stage {
 public:
  explicit RedisStage(std::vector<std::string> options) : server_(std::move(options)) {}
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  std::string url(const std::vector<std::uint16_t>& ports) const override {
    return "redis://127.0.0.1:" + std::to_string(ports.at(0)) + "/0";
  }
  std::vector<Fault> faults() override { return server_faults(server_); }

  std::vector<std::string> leftovers() override {
    std::istringstream keys(server_.cli({"--raw", "KEYS", "*"}));
    std::vector<std::string> left;
    for (std::string key; std::getline(keys, key);) {
      if (!key.empty() && key != "{pawl}:meta") left.push_back("the key " + key);
    }
    return left;
  }

 protected:
  test::RedisServer server_;
};

/// Empty whenever it was killed or restarted, or was told to forget.
class ForgetfulRedisStage final : public RedisStage {
 public:
  ForgetfulRedisStage() : RedisStage({}) {}
  bool forgets() const override { return true; }
  std::vector<Fault> faults() override {
    std::vector<Fault> all = server_faults(server_);
    all.push_back({"FLUSHALL", "server", [this](Chance&) -> Fault::Steps {
                     server_.cli({"FLUSHALL"});
                     return {};
                   }});
    return all;
  }
};

}  // namespace

/// It has each write on disk before it answers, so that it forgets nothing when it is killed.
std::unique_ptr<Stage> redis_stage() {
  return std::make_unique<RedisStage>(std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"});
}

std::unique_ptr<Stage> forgetful_redis_stage() { return std::make_unique<ForgetfulRedisStage>(); }

}  // namespace pawl::torture
