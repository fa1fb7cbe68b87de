// The examples of <pawl/mysql.hpp>, as their users run them.

#include "tests/support/mysql_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace pawl::test {
namespace {

int run_example(const std::string& name) {
  MysqlServer& server = MysqlServer::shared();
  { const Client installed(server.url()); }
  const std::string where = " 127.0.0.1 " + std::to_string(server.port()) + " pawl secret pawl";
  return std::system((std::string(PAWL_EXAMPLES) + "/example_" + name + where).c_str());
}

TEST(MysqlExamples, ALockInTheProgramsOwnTransaction) { EXPECT_EQ(run_example("lock_in_transaction"), 0); }

TEST(MysqlExamples, AVersionColumn) { EXPECT_EQ(run_example("version_column"), 0); }

}  // namespace
}  // namespace pawl::test
