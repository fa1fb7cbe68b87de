#include "store/mysql/answers.hpp"

#include <gtest/gtest.h>

namespace pawl::store::mysql {

namespace {

// A stand-alone MariaDB has wsrep_on=OFF, a stand-alone MySQL no variables of Group Replication or an empty name.
TEST(MysqlAnswers, RowLocksAreEnoughOnOneServerAndOnOnePrimary) {
  EXPECT_FALSE(has_many_writers({{"wsrep_on", "OFF"}}));
  EXPECT_FALSE(
      has_many_writers({{"group_replication_group_name", ""}, {"group_replication_single_primary_mode", "ON"}}));
  EXPECT_FALSE(has_many_writers(
      {{"group_replication_group_name", "aaaaaaaa-1"}, {"group_replication_single_primary_mode", "ON"}}));
}

TEST(MysqlAnswers, GaleraAndSeveralPrimariesHaveManyWriters) {
  EXPECT_TRUE(has_many_writers({{"wsrep_on", "ON"}}));
  EXPECT_TRUE(has_many_writers(
      {{"group_replication_group_name", "aaaaaaaa-1"}, {"group_replication_single_primary_mode", "OFF"}}));
}

}  // namespace

}  // namespace pawl::store::mysql
