#include "tests/support/census.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/torture/stage.hpp"

#include <utility>

namespace pawl::torture {

namespace {

/// Killed, it loses nothing that was committed.
class MysqlStage final : public Stage {
 public:
  explicit MysqlStage(bool locks_end_with_connections) : locks_end_with_connections_(locks_end_with_connections) {}

  /// Such a lock is free when its server has been killed, before the holder knows: declared, and left to tokens and fences.
  bool forgets() const override { return locks_end_with_connections_; }
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
  const bool locks_end_with_connections_;
  test::MysqlServer server_;
};

}  // namespace

std::unique_ptr<Stage> mysql_stage() { return std::make_unique<MysqlStage>(false); }
std::unique_ptr<Stage> mysql_connections_stage() { return std::make_unique<MysqlStage>(true); }

}  // namespace pawl::torture
