// The blocking form of every kind, as programs call it. The contract suite asks for the same through coroutines.

#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using testing::HasSubstr;

class BlockingFace : public testing::Test {
 protected:
  Client client_{"memory:"};
};

TEST_F(BlockingFace, ReadersHoldTogetherAndAWriterAlone) {
  SharedMutex book = client_.shared_mutex("book");
  EXPECT_EQ(book.name(), "book");
  auto one = book.acquire_shared();
  auto other = book.try_acquire_shared();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->mode(), Mode::shared);
  EXPECT_EQ(book.try_acquire().code(), Errc::busy);
  EXPECT_EQ(book.acquire({.wait = 1ms}).code(), Errc::timed_out);
  EXPECT_TRUE(one->release() && other->release());
  auto writer = book.acquire();
  ASSERT_TRUE(writer);
  EXPECT_EQ(book.try_acquire_shared().code(), Errc::busy);
  EXPECT_EQ(book.acquire_shared({.wait = 1ms}).code(), Errc::timed_out);
}

TEST_F(BlockingFace, AWriterGoesOnAsAReader) {
  SharedMutex book = client_.shared_mutex("book");
  auto writer = book.acquire();
  ASSERT_TRUE(writer);
  const Token token = writer->token();
  ASSERT_TRUE(writer->downgrade());
  EXPECT_EQ(writer->mode(), Mode::shared);
  EXPECT_EQ(writer->token(), token);
  EXPECT_TRUE(book.try_acquire_shared());
  EXPECT_EQ(Hold().downgrade().code(), Errc::not_owner) << "an empty hold has nothing to share";
}

TEST_F(BlockingFace, ASemaphoreHasBetweenOnePermitAndItsMost) {
  EXPECT_EQ(client_.semaphore("pool", 3).name(), "pool");
  EXPECT_TRUE(client_.semaphore("large", Semaphore::most_permits).try_acquire());
  for (const std::uint32_t wrong : {std::uint32_t{0}, Semaphore::most_permits + 1}) {
    EXPECT_THROW(client_.semaphore("pool", wrong), Exception) << wrong;
  }
}

TEST_F(BlockingFace, ALeaderIsElectedKnownAndObserved) {
  Election election = client_.election("leader");
  EXPECT_EQ(election.name(), "leader");
  Observation observation = election.observe();
  EXPECT_EQ(observation.next().value(), std::nullopt) << "it begins with how it is";
  auto lead = election.campaign("10.0.0.1:80");
  ASSERT_TRUE(lead);
  EXPECT_EQ(election.try_campaign("10.0.0.2:80").code(), Errc::busy);
  const auto leader = election.leader();
  ASSERT_TRUE(leader && *leader);
  EXPECT_EQ((*leader)->value, "10.0.0.1:80");
  EXPECT_EQ((*leader)->token, lead->token());
  const auto change = observation.next();
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->token, lead->token());
  EXPECT_EQ(observation.next(1ms).code(), Errc::timed_out);
  EXPECT_EQ(observation.next(-1ms).code(), Errc::invalid_argument);
  EXPECT_TRUE(lead->release());
  EXPECT_EQ(observation.next().value(), std::nullopt);
  EXPECT_EQ(election.leader().value(), std::nullopt);
}

class BlockingMultiLock : public BlockingFace {
 protected:
  MultiLock all() { return MultiLock{mutex_}.add(book_, Mode::shared).add(pool_, 2).add(other_); }

  Mutex mutex_ = client_.mutex("a");
  Mutex other_ = client_.mutex("b");
  SharedMutex book_ = client_.shared_mutex("book");
  Semaphore pool_ = client_.semaphore("pool", 3);
};

TEST_F(BlockingMultiLock, TakesAndReleasesAllKinds) {
  auto holds = all().acquire();
  ASSERT_TRUE(holds);
  EXPECT_TRUE(holds->valid());
  EXPECT_EQ(holds->size(), 4u);
  const std::vector<Sequencer> sequencers = holds->sequencers();
  ASSERT_EQ(sequencers.size(), 5u) << "of a semaphore one for each permit";
  EXPECT_EQ(sequencers[1].mode, Mode::shared);
  EXPECT_NE(sequencers[2].slot, sequencers[3].slot);
  EXPECT_EQ((*holds)[3].token(), sequencers[4].token);
  EXPECT_THROW((*holds)[4], std::out_of_range);
  EXPECT_FALSE(mutex_.try_acquire());
  EXPECT_TRUE(holds->release());
  EXPECT_FALSE(holds->valid());
  EXPECT_TRUE(mutex_.try_acquire() && other_.try_acquire() && book_.try_acquire() && pool_.try_acquire(3));
}

TEST_F(BlockingMultiLock, KeepsNoneIfOneCannotBeHad) {
  auto taken = other_.acquire();
  const auto refused = all().try_acquire();
  EXPECT_EQ(refused.code(), Errc::busy);
  EXPECT_THAT(refused.error().message, HasSubstr("\"b\""));
  EXPECT_EQ(all().acquire({.wait = 1ms}).code(), Errc::timed_out);
  EXPECT_TRUE(mutex_.try_acquire() && book_.try_acquire() && pool_.try_acquire(3));
}

TEST_F(BlockingMultiLock, AnEmptyHoldIsNotValidAndOwnsNothing) {
  MultiHold none;
  EXPECT_EQ(none.size(), 0u);
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE(none.lost().stop_possible());
  EXPECT_FALSE(none.release_requested().stop_possible());
  EXPECT_EQ(none.release().code(), Errc::not_owner);
  EXPECT_EQ(MultiLock().acquire().code(), Errc::invalid_argument) << "nothing to take";
}

TEST_F(BlockingMultiLock, ThatIsAssignedToLetsGoOfWhatItHeld) {
  MultiHold holds = all().acquire().value();
  holds = MultiHold();
  EXPECT_FALSE(holds.valid());
  EXPECT_TRUE(mutex_.acquire({.wait = 60s}));
}

TEST_F(BlockingMultiLock, IsAskedForThroughAnyOfItsLocks) {
  auto holds = all().acquire();
  ASSERT_TRUE(holds);
  ASSERT_TRUE(client_.revoke("b"));
  EXPECT_TRUE(eventually([&] { return holds->release_requested().stop_requested(); }));
  EXPECT_TRUE(holds->valid());
}

TEST_F(BlockingMultiLock, MayBeReleasedInsideItsOwnLossSignal) {
  auto holds = all().acquire({.max_hold = 30ms});
  ASSERT_TRUE(holds);
  std::atomic<Errc> told{Errc{}};
  const std::stop_callback released{holds->lost(), [&] { told = holds->release().code(); }};
  EXPECT_TRUE(eventually([&] { return told != Errc{}; }));
  EXPECT_EQ(told, Errc::lost);
  EXPECT_TRUE(mutex_.acquire({.wait = 60s}));
}

TEST_F(BlockingMultiLock, OfATestStoreAndOfAnotherIsRefused) {
  TestStore store;
  Client simulated = store.client();
  const auto refused = MultiLock{mutex_, simulated.mutex("a")}.try_acquire();
  EXPECT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("TestStore"));
}

TEST_F(BlockingFace, AnEpochIsRaisedByHandAndTokensGrow) {
  const Token before = client_.mutex("job").acquire()->token();
  const auto epoch = client_.epoch();
  const auto raised = client_.raise_epoch();
  ASSERT_TRUE(epoch && raised);
  EXPECT_GT(*raised, *epoch);
  EXPECT_EQ(client_.epoch().value(), *raised);
  const Token after = client_.mutex("job").acquire()->token();
  EXPECT_EQ(after.epoch(), *raised);
  EXPECT_GT(after, before);
}

TEST_F(BlockingFace, OtherKindsOfANameAreTold) {
  const auto hold = client_.mutex("job").acquire();
  const auto others = client_.other_kinds("job", Kind::election);
  ASSERT_TRUE(others);
  ASSERT_EQ(others->size(), 1u);
  EXPECT_EQ(others->front().kind, Kind::mutex);
  EXPECT_TRUE(client_.other_kinds("job", Kind::mutex)->empty());
  EXPECT_EQ(client_.other_kinds("", Kind::mutex).code(), Errc::invalid_argument);
}

TEST_F(BlockingFace, AfterCloseEveryCallIsClosed) {
  Election election = client_.election("leader");
  Observation observation = election.observe();
  MultiLock both{client_.mutex("a"), client_.mutex("b")};
  ASSERT_TRUE(client_.close());
  EXPECT_EQ(election.leader().code(), Errc::closed);
  EXPECT_EQ(observation.next(1s).code(), Errc::closed);
  EXPECT_EQ(both.try_acquire().code(), Errc::closed);
  EXPECT_EQ(client_.epoch().code(), Errc::closed);
  EXPECT_EQ(client_.raise_epoch().code(), Errc::closed);
  EXPECT_EQ(client_.other_kinds("a", Kind::rw).code(), Errc::closed);
  EXPECT_EQ(client_.list().code(), Errc::closed);
}

/// PAWL_STORE, as it was again when the test is over.
class DefaultStore : public testing::Test {
 protected:
  DefaultStore() {
    if (const char* before = std::getenv("PAWL_STORE")) before_ = before;
  }
  ~DefaultStore() override { before_ ? ::setenv("PAWL_STORE", before_->c_str(), 1) : ::unsetenv("PAWL_STORE"); }
  static void name(const char* url) { ::setenv("PAWL_STORE", url, 1); }

 private:
  std::optional<std::string> before_;
};

TEST_F(DefaultStore, IsTheOneThatPawlStoreNames) {
  name("memory:named-by-the-environment");
  auto client = Client::open();
  ASSERT_TRUE(client) << client.error().to_string();
  Client same("memory:named-by-the-environment");
  const auto hold = client->mutex("job").acquire();
  EXPECT_EQ(same.mutex("job").try_acquire().code(), Errc::busy);
}

TEST_F(DefaultStore, ThatIsWrongIsRefusedWithoutAHintToNameOne) {
  name("nowhere:");
  const auto client = Client::open();
  EXPECT_EQ(client.code(), Errc::invalid_argument);
  EXPECT_EQ(client.error().message.find("this is the default store"), std::string::npos);
}

TEST(ClientOwner, IsAnonymousOrNotGiven) {
  EXPECT_TRUE(Client::open("memory:?owner=anonymous"));
  const auto refused = Client::open("memory:?owner=me");
  EXPECT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("owner=me"));
}

}  // namespace
}  // namespace pawl
