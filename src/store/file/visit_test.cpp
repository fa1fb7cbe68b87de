#include "store/file/visit.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pawl::store::file {
namespace {

using namespace std::chrono_literals;

class VisitTest : public testing::Test {
 protected:
  std::shared_ptr<Environment> open() {
    FolderOptions options;
    options.path = folder_ / "store";
    return Environment::open(options, runtime_, soon()).value();
  }
  Deadline soon() const { return Deadline::in(runtime_.now(), 60s); }
  /// And what it leaves to do in the background has begun.
  Result<void> visit(const Environment::Work& work) {
    Result<void> visited = runtime_.block_on(file::visit(environment_, runtime_, work, soon()));
    test::on_executor(runtime_, [] {});
    return visited;
  }

  const test::TemporaryFolder folder_;
  base::RealRuntime runtime_;
  const std::shared_ptr<Environment> environment_ = open();
};

// What is to be done in the background needs a thread, and there was none: the next visit tries it again.

TEST_F(VisitTest, TokensAreReservedLaterWhereNoThreadCouldBeStarted) {
  {
    const test::NoMoreThreads none;
    const Environment::Work use_tokens = [](Tables& tables) {
      tables.counters().last_token = tables.counters().reserved - 1;
    };
    ASSERT_TRUE(visit(use_tokens));
  }
  std::uint64_t left = 0;
  const Environment::Work look = [&](Tables& tables) {
    left = tables.counters().reserved - tables.counters().last_token;
  };
  EXPECT_TRUE(test::eventually([&] { return visit(look) && left > token_block / 2; }));
}

TEST_F(VisitTest, WhatHasEndedIsSweptLaterWhereNoThreadCouldBeStarted) {
  const auto session = runtime_.make_id<SessionId>();
  const Environment::Work crowd = [&](Tables& tables) {
    const SessionRecord record{.lease = 24h, .process = environment_->process()};
    ASSERT_TRUE(tables.open_session(session, record));
    for (std::size_t i = 0; i < 3 * Tables::batch; ++i) {
      const LockKey key{Kind::mutex, base::LockName::make("crowd " + std::to_string(i)).value()};
      ASSERT_TRUE(tables.claim({.id = runtime_.make_id<ClaimId>(), .session = session, .key = key}));
    }
  };
  ASSERT_TRUE(visit(crowd));
  {
    const test::NoMoreThreads none;
    const Environment::Work end = [&](Tables& tables) { tables.close_session(session); };
    ASSERT_TRUE(visit(end));
  }
  ASSERT_TRUE(environment_->more_to_sweep());
  const Environment::Work nothing = [](Tables&) {};
  ASSERT_TRUE(visit(nothing)) << "sweeps a batch, and has the rest swept in the background";
  EXPECT_TRUE(test::eventually([&] { return !environment_->more_to_sweep(); }));
}

}  // namespace
}  // namespace pawl::store::file
