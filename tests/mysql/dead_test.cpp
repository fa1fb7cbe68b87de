// What clients leave behind when they die: the next client passes it, at once, and no call does more than a little of it. Calls
// run one after the other, so that all wait for a call that does it all.

#include "tests/mysql/procedure_user.hpp"
#include "tests/support/mysql_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::MysqlServer;
using test::ProcedureUser;

/// Of rows, for one call: never one for each of thousands of claims.
constexpr std::uint64_t few_changes = 1'000;
constexpr std::uint64_t few_reads = 20'000;

/// More calls than any of these needs.
constexpr int many_calls = 5'000;

/// Claims as if a client had made them, numbered from 1. `lock` and `session` are SQL, in which `n` is the number.
struct Crowd {
  int count = 0;
  std::string lock;
  int state = 1;  ///< 0 waits, 1 holds, 2 is a lock-delay
  bool shared = false;
  std::string session = "1";
};

class MysqlDead : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(client_.epoch());  // makes the tables
    dead_.emplace(server_);
    dead_->open(1);
  }
  void TearDown() override {
    if (!dead_) return;
    EXPECT_LE(dead_->most().changed, few_changes);
    EXPECT_LE(dead_->most().read, few_reads);
  }

  void make(const Crowd& crowd) {
    const std::string numbers = "(SELECT seq AS n FROM seq_1_to_" + std::to_string(crowd.count) + ") numbers";
    const std::string session = crowd.state == 2 ? "''" : ProcedureUser::id_sql(crowd.session);
    dead_->client().query("INSERT IGNORE INTO pawl_session SELECT " + ProcedureUser::id_sql(crowd.session) +
                          ", 3600000000, 1 << 60, 'mail', 'host', 1, '' FROM " + numbers);
    dead_->client().query("INSERT INTO pawl_claim SELECT " + ProcedureUser::id_sql("n") + ", " + session + ", " +
                          crowd.lock + ", " + std::to_string(crowd.state) + (crowd.shared ? ", 1" : ", 0") +
                          ", 0, 0, 1, " + (crowd.state == 2 ? "1 << 60" : "NULL") + ", n, 1, n, 0, '', '', '' FROM " +
                          numbers);
    dead_->client().query(
        "INSERT IGNORE INTO pawl_lock SELECT DISTINCT lock_id, SUBSTRING_INDEX(lock_id, ':', -1), 0, 0, '' FROM "
        "pawl_claim");
    dead_->client().query("UPDATE pawl_meta SET counter = GREATEST(counter, " + std::to_string(crowd.count) + ")");
  }
  void let_all_end() {
    dead_->let_all_end();
    dead_->open(next_);  // does some of the sweep
  }
  /// A client that comes by for something else.
  void pass_by() {
    EXPECT_EQ(dead_->claim(next_, 1'000'000, "mutex:other"), "granted");
    EXPECT_TRUE(dead_->withdraw(next_, 1'000'000, "mutex:other"));
  }
  void expect_all_swept() {
    const std::string left =
        "(SELECT id FROM pawl_session WHERE ends = 1 UNION SELECT id FROM pawl_claim WHERE until = 1 UNION SELECT "
        "lock_id FROM "
        "pawl_unsettled) l";
    for (int i = 0; i < many_calls && dead_->count(left) > 0; ++i) pass_by();
    for (const char* table :
         {"pawl_claim", "pawl_lock", "pawl_unique", "pawl_mail", "pawl_tombstone", "pawl_unsettled", "pawl_untold"}) {
      EXPECT_EQ(dead_->count(table), 0) << table;
    }
  }
  std::string ask_until_answered(int session, int claim, const std::string& lock,
                                 const ProcedureUser::Wish& wish = {}) {
    for (int i = 0; i < many_calls; ++i) {
      const std::string answer = dead_->claim(session, claim, lock, wish);
      if (answer != "more") return answer;
    }
    return "more";
  }

  const int next_ = 500'000;  ///< a session that lives
  MysqlServer server_;
  Client client_{server_.url("?timeout=30s")};
  std::optional<ProcedureUser> dead_;
};

TEST_F(MysqlDead, ThousandsOfLocksOfOneAreSweptBitByBitAndFreeAtOnce) {
  make({.count = 3'000, .lock = "CONCAT('pawl/mutex:job', n)"});
  let_all_end();
  EXPECT_EQ(dead_->try_claim(next_, 20'001, "mutex:job1500"), "granted");
  EXPECT_EQ(dead_->try_claim(next_, 20'002, "mutex:job3000"), "granted") << "whether or not it was swept by then";
  EXPECT_TRUE(client_.mutex("job2999").try_acquire());
  EXPECT_GT(dead_->count("pawl_claim"), 2'000) << "most of it is left to others";
  EXPECT_TRUE(dead_->withdraw(next_, 20'001, "mutex:job1500"));
  EXPECT_TRUE(dead_->withdraw(next_, 20'002, "mutex:job3000"));
  expect_all_swept();
}

// Minutes in one call, where there were ten thousand: each was looked for among those that had just been deleted.
TEST_F(MysqlDead, ThousandsOfUniqueLocksOfOneAreSweptBitByBit) {
  make({.count = 3'000, .lock = "CONCAT('pawl~unique/mutex:job', n)"});
  dead_->client().query("INSERT INTO pawl_unique SELECT lock_id, id FROM pawl_claim");
  let_all_end();
  EXPECT_EQ(dead_->claim_unique(next_, 20'001, "job3000"), "granted");
  EXPECT_GT(dead_->count("pawl_claim"), 2'000);
  EXPECT_TRUE(dead_->withdraw_id(next_, 20'001, "pawl~unique/mutex:job3000"));
  expect_all_swept();
}

TEST_F(MysqlDead, ThousandsOfSessionsThatEndTogetherAreSweptBitByBit) {
  make({.count = 3'000, .lock = "CONCAT('pawl/mutex:job', n)", .session = "n"});
  let_all_end();
  EXPECT_EQ(dead_->try_claim(next_, 20'001, "mutex:job3000"), "granted");
  EXPECT_GT(dead_->count("pawl_claim"), 2'000);
  EXPECT_TRUE(dead_->withdraw(next_, 20'001, "mutex:job3000"));
  expect_all_swept();
}

TEST_F(MysqlDead, ManyPermitsAreSweptBitByBit) {
  for (int i = 1; i <= 1'000; ++i) dead_->claim(1, i, "semaphore:job", {.permits = 1, .of = 1'000});
  let_all_end();
  pass_by();
  EXPECT_GT(dead_->count("pawl_claim"), 500);
  EXPECT_EQ(ask_until_answered(next_, 20'001, "semaphore:job", {.permits = 1'000, .of = 1'000}), "granted")
      << "whoever wants them sweeps them";
  EXPECT_TRUE(dead_->withdraw(next_, 20'001, "semaphore:job"));
  expect_all_swept();
}

// One claim may have many: its permits count, too.
TEST_F(MysqlDead, ClaimsWithManyPermitsAreSweptOneByOne) {
  for (int i = 1; i <= 10; ++i) dead_->claim(1, i, "semaphore:job" + std::to_string(i), {.permits = 1'000});
  let_all_end();
  EXPECT_EQ(dead_->count("pawl_claim"), 9);
  expect_all_swept();
}

TEST_F(MysqlDead, LockDelaysThatAreOverAreSweptBitByBit) {
  make({.count = 1'000, .lock = "CONCAT('pawl/mutex:job', n)", .state = 2});
  EXPECT_EQ(client_.mutex("job900").try_acquire().code(), Errc::busy) << "the delay";
  let_all_end();
  EXPECT_EQ(dead_->try_claim(next_, 20'001, "mutex:job900"), "granted");
  EXPECT_GT(dead_->count("pawl_claim"), 500);
  EXPECT_TRUE(dead_->withdraw(next_, 20'001, "mutex:job900"));
  expect_all_swept();
}

TEST_F(MysqlDead, AQueueOfThousandsIsPassedAtOnce) {
  make({.count = 3'000, .lock = "'pawl/mutex:job'", .state = 0, .session = "n"});
  let_all_end();
  EXPECT_TRUE(client_.mutex("job").acquire({.wait = 60s}));
}

// It would ask again every millisecond until the sweep has come to the one before it.
TEST_F(MysqlDead, AWaiterBehindDeadOnesLooksAtOneThatLives) {
  make({.count = 1'000, .lock = "'pawl/mutex:job'", .state = 0, .session = "n"});
  dead_->client().query("UPDATE pawl_claim SET state = 1 WHERE id = '" + ProcedureUser::id(1) + "'");
  const std::string first = ProcedureUser::id(1);
  dead_->client().query("UPDATE pawl_session SET ends = 1 WHERE id <> '" + first + "'");
  dead_->open(next_);
  EXPECT_EQ(ask_until_answered(next_, 20'001, "mutex:job"), "waiting");
  const auto rows =
      dead_->call("claim", ProcedureUser::quoted({ProcedureUser::id(20'001), ProcedureUser::id(next_), "pawl/mutex:job",
                                                  "job", "0", "0", "0", "3600000000", "0", "1", "", ""}));
  EXPECT_GT(std::stoll(rows.at(0).at(5)), 60'000'000) << "microseconds";
}

// try_acquire() was busy where only the first holder was looked at.
TEST_F(MysqlDead, ReadersDoNotKeepAWriterOut) {
  make({.count = 1'000, .lock = "'pawl/rw:job'", .shared = true, .session = "n"});
  let_all_end();
  EXPECT_TRUE(client_.shared_mutex("job").try_acquire());
}

TEST_F(MysqlDead, WhatIsLeftOfADeadClientIsNotItsOwnAnyMore) {
  make({.count = 1'000, .lock = "CONCAT('pawl/mutex:job', n)"});
  EXPECT_EQ(dead_->look(1, 900, "mutex:job900"), "1");
  EXPECT_EQ(dead_->call("check", "'pawl/mutex:job900', 1, 900")[0][0], "1");
  let_all_end();
  ASSERT_EQ(dead_->count("pawl_claim WHERE lock_id = 'pawl/mutex:job900'"), 1) << "it is not swept";
  EXPECT_FALSE(dead_->renew(1));
  EXPECT_EQ(dead_->look(1, 900, "mutex:job900"), "NULL");
  EXPECT_EQ(dead_->call("check", "'pawl/mutex:job900', 1, 900")[0][0], "0");
  EXPECT_FALSE(dead_->withdraw(1, 900, "mutex:job900"));
  EXPECT_EQ(dead_->claim(1, 900, "mutex:job900"), "lost");
  EXPECT_EQ(dead_->claim(1, 20'001, "mutex:fresh"), "lost");
  EXPECT_EQ(dead_->call("revoke", "'" + ProcedureUser::id(899) + "', 'pawl/mutex:job899', 1")[0][0], "0");
  EXPECT_TRUE(client_.inspect("job898").value().holders.empty());
  EXPECT_TRUE(client_.list("job8").value().empty());
}

// Its locks may be others' by now.
TEST_F(MysqlDead, ASessionThatWasSeenToHaveEndedIsNotBroughtBackByAClockThatIsSetBack) {
  make({.count = 1'000, .lock = "CONCAT('pawl/mutex:job', n)"});
  let_all_end();
  dead_->client().query("UPDATE pawl_session SET ends = 1 << 60 WHERE id = '" + ProcedureUser::id(1) + "'");
  EXPECT_FALSE(dead_->renew(1));
}

// All of them in one call, before, which read half a million rows for it.
TEST_F(MysqlDead, AThousandReadersComeInBitByBit) {
  EXPECT_EQ(dead_->claim(1, 1, "rw:job"), "granted");
  for (int i = 2; i <= 1'001; ++i) EXPECT_EQ(dead_->claim(1, i, "rw:job", {.shared = true}), "waiting");
  dead_->open(next_);
  EXPECT_TRUE(dead_->withdraw(1, 1, "rw:job"));
  const int at_once = dead_->count("pawl_claim WHERE state = 1");
  EXPECT_GT(at_once, 0);
  EXPECT_LT(at_once, 200);
  EXPECT_EQ(dead_->count("pawl_mail WHERE what = 'again'"), 1) << "the next one is told to come";
  const std::string head = dead_->field("SELECT claim FROM pawl_mail WHERE what = 'again'");
  EXPECT_EQ(dead_->field("SELECT id FROM pawl_claim WHERE state = 0 ORDER BY ticket LIMIT 1"), head);
  for (int i = at_once + 2; i <= 1'001; ++i) EXPECT_EQ(ask_until_answered(1, i, "rw:job", {.shared = true}), "granted");
  EXPECT_EQ(dead_->count("pawl_claim WHERE state = 1"), 1'000);
  EXPECT_EQ(dead_->count("pawl_unsettled"), 0);
}

TEST_F(MysqlDead, AThousandHoldersAreToldOfAWaiterBitByBit) {
  make({.count = 1'000, .lock = "'pawl/rw:job'", .shared = true});
  dead_->open(next_);
  EXPECT_EQ(dead_->claim(next_, 20'001, "rw:job"), "more");
  EXPECT_LT(dead_->count("pawl_mail"), 200);
  EXPECT_EQ(ask_until_answered(next_, 20'001, "rw:job"), "waiting");
  EXPECT_EQ(dead_->field("SELECT COUNT(DISTINCT claim) FROM pawl_mail WHERE what = 'contended'"), "1000");
  EXPECT_EQ(dead_->count("pawl_mail"), 1'000) << "each of them once";
  EXPECT_EQ(dead_->count("pawl_unsettled") + dead_->count("pawl_untold"), 0);
}

// The one who began has gone: any other client goes on.
TEST_F(MysqlDead, HoldersAreToldToTheEndBySomebodyElse) {
  make({.count = 1'000, .lock = "'pawl/rw:job'", .shared = true});
  dead_->open(next_);
  EXPECT_EQ(dead_->claim(next_, 20'001, "rw:job"), "more");
  for (int i = 0; i < many_calls && dead_->count("pawl_unsettled") > 0; ++i) pass_by();
  EXPECT_EQ(dead_->field("SELECT COUNT(DISTINCT claim) FROM pawl_mail WHERE what = 'contended'"), "1000");
}

TEST_F(MysqlDead, ASessionWithThreeThousandLocksIsClosedBitByBit) {
  make({.count = 3'000, .lock = "CONCAT('pawl/mutex:job', n)"});
  EXPECT_FALSE(dead_->close(1));
  EXPECT_FALSE(dead_->renew(1)) << "it has ended with the first call";
  EXPECT_TRUE(client_.mutex("job2999").try_acquire());
  int calls = 1;
  while (calls < many_calls && !dead_->close(1)) ++calls;
  EXPECT_GT(calls, 20);
  EXPECT_EQ(dead_->count("pawl_claim WHERE session = '" + ProcedureUser::id(1) + "'"), 0);
}

TEST_F(MysqlDead, AClientThatClosesWithManyHoldsLeavesNothingBehind) {
  Client alice(server_.url("?timeout=30s"));
  std::vector<Hold> holds;
  for (int i = 0; i < 300; ++i) holds.push_back(alice.mutex("job" + std::to_string(i)).acquire({.wait = 60s}).value());
  EXPECT_TRUE(alice.close(60s));
  EXPECT_EQ(dead_->count("pawl_claim"), 0);
  EXPECT_EQ(dead_->count("pawl_session WHERE id <> '" + ProcedureUser::id(1) + "'"), 0);
}

// Not dead, but many: a person who looks at them delays nobody.
TEST_F(MysqlDead, TwoThousandWaitersAreShownPageByPage) {
  make({.count = 2'001, .lock = "'pawl/mutex:job'", .state = 0});
  dead_->client().query("UPDATE pawl_claim SET state = 1 WHERE id = '" + ProcedureUser::id(1) + "'");
  EXPECT_EQ(dead_->call("inspect", "'pawl/mutex:job', '', '', -1, 0").size(), 500U);
  EXPECT_EQ(dead_->call("inspect", "'pawl/mutex:job', '', '', 0, 1601").size(), 401U);
  const LockView view = client_.inspect("job").value();
  EXPECT_EQ(view.holders.size(), 1U);
  ASSERT_EQ(view.waiters.size(), 2'000U);
  for (int i = 0; i < 2'000; ++i) ASSERT_EQ(view.waiters[i].claim, ProcedureUser::id(i + 2)) << "in their order";
}

TEST_F(MysqlDead, ThousandsOfLocksAreListedPageByPage) {
  make({.count = 2'000, .lock = "CONCAT('pawl/mutex:job', n)"});
  dead_->claim(1, 20'001, "rw:else");
  const std::vector<LockView> all = client_.list().value();
  ASSERT_EQ(all.size(), 2'001U);
  std::set<std::string> names;
  for (const LockView& lock : all) names.insert(lock.name);
  EXPECT_EQ(names.size(), 2'001U);
  EXPECT_EQ(client_.list("job19").value().size(), 111U);
}

TEST_F(MysqlDead, TheClaimsOfASessionAreReadPageByPage) {
  make({.count = 1'001, .lock = "CONCAT('pawl/mutex:job', n)"});
  const auto claims = [this](const std::string& after) {
    return dead_->call("session_claims", ProcedureUser::quoted({ProcedureUser::id(1), after}));
  };
  std::set<std::string> seen;
  std::string after;
  for (const std::size_t expected : {500U, 500U, 1U}) {
    const auto page = claims(after);
    ASSERT_EQ(page.size(), expected);
    for (const auto& row : page) seen.insert(row[0]);
    after = page.back()[0];
  }
  EXPECT_EQ(seen.size(), 1'001U);
  EXPECT_TRUE(claims(after).empty());
}

}  // namespace
}  // namespace pawl
