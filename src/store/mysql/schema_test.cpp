#include "store/mysql/schema.hpp"

#include "store/mysql/identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pawl::store::mysql {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(MysqlSchema, TheLayoutInTheStatementsIsThatOfTheClient) {
  const std::string number = std::to_string(layout);
  EXPECT_THAT(schema_statements().back(),
              AllOf(HasSubstr("PROCEDURE pawl_begin"), HasSubstr("VALUES (1, " + number + ","),
                    HasSubstr("v_layout = " + number)));
  EXPECT_THAT(schema_script(), AllOf(HasSubstr("ABS(v_layout) > " + number), HasSubstr("SET layout = " + number)));
}

TEST(MysqlSchema, EveryProcedureIsReplacedByAnUpgrade) {
  const std::string script = schema_script();
  for (const std::string& statement : schema_statements()) {
    const std::size_t at = statement.find("CREATE PROCEDURE ");
    if (at == std::string::npos) continue;
    const std::string name = statement.substr(at + 17, statement.find('(', at) - at - 17);
    EXPECT_THAT(script, HasSubstr("DROP PROCEDURE IF EXISTS " + name + "\n//\n")) << name;
  }
}

TEST(MysqlSchema, AnotherLayoutIsRefusedWithWhatToDo) {
  EXPECT_TRUE(accept_layout(std::to_string(layout)));
  const auto sentence = [](int found) { return accept_layout(std::to_string(found)).error().to_string(); };
  EXPECT_THAT(sentence(layout - 1), AllOf(HasSubstr("unsupported"), HasSubstr("pawl schema --store URL --apply")));
  EXPECT_THAT(sentence(-1), AllOf(HasSubstr("not finished"), HasSubstr("pawl schema --store URL --apply")));
  EXPECT_THAT(sentence(layout + 1), AllOf(HasSubstr("unsupported"), HasSubstr("use the newer one")));
}

TEST(MysqlIdentity, AServerWhoseClockWasSetBackToBeforeItsStartIsTheSame) {
  std::map<std::string, std::string> variables{{"server_uid", "abc"}, {"hostname", "db7"}, {"port", "3306"}};
  EXPECT_EQ(identity_of(variables, "2000", "500").started, 1500);
  EXPECT_EQ(identity_of(variables, "1000", "18446744073709551116").started, 1500) << "an uptime of -500";
  EXPECT_EQ(identity_of(variables, "2000", "500").words, "abc db7 3306");
}

}  // namespace
}  // namespace pawl::store::mysql
