#include "tests/support/census.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/torture/stage.hpp"

#include <utility>

namespace pawl::torture {

namespace {

/// Killed, it loses nothing that was committed.
class MysqlStage final : public Stage {
 public:
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  std::string url(const std::vector<std::uint16_t>& ports) const override {
    return "mysql://pawl:secret@127.0.0.1:" + std::to_string(ports.at(0)) + "/pawl";
  }
  std::vector<Fault> faults() override { return server_faults(server_); }
  std::vector<std::string> leftovers() override {
    const std::set<std::string> found = test::mysql_census(server_.port())();
    return {found.begin(), found.end()};
  }

 private:
  test::MysqlServer server_;
};

}  // namespace

std::unique_ptr<Stage> mysql_stage() { return std::make_unique<MysqlStage>(); }

}  // namespace pawl::torture
