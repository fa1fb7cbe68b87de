#include "tests/support/redis_server.hpp"
#include "tests/torture/stage.hpp"

#include <sstream>

namespace pawl::torture {

namespace {

/// A server that has each write on disk before it answers, so that it forgets nothing when it is killed.
class RedisStage final : public Stage {
 public:
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

 private:
  test::RedisServer server_{{"--appendonly", "yes", "--appendfsync", "always"}};
};

}  // namespace

std::unique_ptr<Stage> redis_stage() { return std::make_unique<RedisStage>(); }

}  // namespace pawl::torture
