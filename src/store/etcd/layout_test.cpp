#include "store/etcd/layout.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::store::etcd {
namespace {

LockKey lock(const std::string& name, Kind kind = Kind::mutex) { return {kind, LockName::make(name).value()}; }

constexpr ClaimId claim{1, 2};
const std::string claim_text = "00000000000000010000000000000002";

TEST(EtcdLayoutTest, AKeySaysWhichLockAndWhose) {
  const Layout layout("pawl/", false);
  EXPECT_EQ(layout.key(lock("billing/ledger"), Mode::exclusive, 0x1f, claim),
            "pawl/queue/mutex/billing%2Fledger/1f." + claim_text);
  EXPECT_EQ(layout.key(lock("a", Kind::rw), Mode::shared, 0x1f, claim), "pawl/queue/rw/a/r.1f." + claim_text);
  EXPECT_EQ(layout.session(0x1f), "pawl/sessions/1f");
}

TEST(EtcdLayoutTest, WithRawNamesAKeyIsWhereGoLooksForIt) {
  const Layout layout("pawl/", true);
  EXPECT_EQ(layout.key(lock("locks/a"), Mode::exclusive, 0x1f, claim), "locks/a/1f." + claim_text);
  EXPECT_EQ(layout.epoch(), "pawl/epoch");
}

TEST(EtcdLayoutTest, AKeyTellsItsOwner) {
  const auto owner = owner_of_key("r.7f5a." + claim_text);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->lease, 0x7f5a);
  EXPECT_EQ(owner->claim, claim);
  EXPECT_EQ(owner->mode, Mode::shared);
  EXPECT_EQ(owner_of_key("7f5a." + claim_text)->mode, Mode::exclusive);
}

TEST(EtcdLayoutTest, KeysOfOthersHaveNoOwner) {
  const std::vector<std::string> others{"",
                                        "694d7a8b1c2d3e4f",
                                        "7f5a.12",
                                        "7F5A." + claim_text,
                                        "07f." + claim_text,
                                        "-1." + claim_text,
                                        "." + claim_text,
                                        "x." + claim_text,
                                        "7f5a." + claim_text + "0",
                                        "10000000000000000." + claim_text};
  for (const std::string& rest : others) EXPECT_FALSE(owner_of_key(rest)) << rest;
}

TEST(EtcdLayoutTest, AReaderWaitsForKeysOfWritersAndOfOtherLibraries) {
  const Layout layout("pawl/", false);
  const LockKey rw = lock("a", Kind::rw);
  const KeyRange range = blocking(layout.folder(rw), Mode::shared);
  const auto in = [&](const std::string& key) { return key >= range.begin && key < range.end; };
  EXPECT_TRUE(in(layout.key(rw, Mode::exclusive, 0x7fffffffffffffff, claim)));
  EXPECT_TRUE(in(layout.folder(rw) + "694d7a8b1c2d3e4f"));
  EXPECT_FALSE(in(layout.key(rw, Mode::shared, 1, claim)));
}

TEST(EtcdLayoutTest, AWriterWaitsForAllOfItsLockAndForNoOther) {
  const Layout layout("pawl/", false);
  const LockKey rw = lock("a", Kind::rw);
  const KeyRange range = blocking(layout.folder(rw), Mode::exclusive);
  const auto in = [&](const std::string& key) { return key >= range.begin && key < range.end; };
  EXPECT_TRUE(in(layout.key(rw, Mode::exclusive, 1, claim)));
  EXPECT_TRUE(in(layout.key(rw, Mode::shared, 0x7fffffffffffffff, claim)));
  EXPECT_FALSE(in(layout.key(lock("ab", Kind::rw), Mode::exclusive, 1, claim)));
  EXPECT_FALSE(in(layout.key(lock("a"), Mode::exclusive, 1, claim)));
}

TEST(EtcdLayoutTest, APathTellsKindAndName) {
  const auto path = path_of_key("election/a%2Fb/1f." + claim_text);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->kind, Kind::election);
  EXPECT_EQ(path->encoded_name, "a%2Fb");
  EXPECT_EQ(path->rest, "1f." + claim_text);
  for (const std::string text : {"", "mutex", "mutex/a", "lock/a/1f"}) EXPECT_FALSE(path_of_key(text)) << text;
}

TEST(EtcdLayoutTest, ANameThatIsTooLongIsHiddenAndNeverMeetsAnother) {
  const Layout layout("pawl/", false);
  const LockKey one = lock(std::string(4096, 'a')), other = lock(std::string(4095, 'a') + "b");
  EXPECT_TRUE(layout.hides_name(one));
  EXPECT_FALSE(layout.hides_name(lock("a/b")));
  EXPECT_NE(layout.folder(one), layout.folder(other));
  EXPECT_LT(layout.key(one, Mode::shared, 1, claim).size(), 1200u);
}

TEST(EtcdLayoutTest, OnlyWhereAllWriteItTheLastOneIsKnown) {
  EXPECT_TRUE(Layout("pawl/", false).tail(lock("a")));
  EXPECT_FALSE(Layout("pawl/", true).tail(lock("a"))) << "Go's clients may come last";
  EXPECT_FALSE(Layout("pawl/", false).tail(lock("a", Kind::rw))) << "a reader waits for a writer";
}

TEST(EtcdLayoutTest, RawNamesHaveNoSemaphores) {
  EXPECT_EQ(check_kind(Kind::permits, true).code(), Errc::unsupported);
  EXPECT_TRUE(check_kind(Kind::permits, false));
  EXPECT_TRUE(check_kind(Kind::election, true));
}

}  // namespace
}  // namespace pawl::store::etcd
