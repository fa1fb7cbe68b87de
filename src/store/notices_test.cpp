#include "store/notices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace pawl::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = Notice::What;

constexpr ClaimId alice{1, 1}, bob{2, 2};

class NoticesTest : public testing::Test {
 protected:
  Waker into(std::vector<What>& heard) {
    return [&heard](const Notice& notice) { heard.push_back(notice.what); };
  }

  std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
  std::vector<What> of_alice_, of_bob_;
};

TEST_F(NoticesTest, EachClaimHearsItsOwn) {
  notices_->watch(alice, into(of_alice_));
  notices_->watch(bob, into(of_bob_));
  notices_->tell(alice, {.what = What::granted});
  notices_->tell(bob, {.what = What::gone});
  EXPECT_THAT(of_alice_, ElementsAre(What::granted));
  EXPECT_THAT(of_bob_, ElementsAre(What::gone));
}

TEST_F(NoticesTest, TheGrantIsPartOfTheNotice) {
  Granted heard;
  notices_->watch(alice, [&](const Notice& notice) { heard = notice.grant; });
  notices_->tell(alice, {.what = What::granted, .grant = {.token = Token(3, 7), .contended = true}});
  EXPECT_EQ(heard.token, Token(3, 7));
  EXPECT_TRUE(heard.contended);
}

TEST_F(NoticesTest, AnUnknownClaimHearsNothing) {
  notices_->watch(alice, into(of_alice_));
  notices_->tell(bob, {.what = What::granted});
  EXPECT_THAT(of_alice_, IsEmpty());
}

TEST_F(NoticesTest, AfterUnwatchNothingIsHeard) {
  notices_->watch(alice, into(of_alice_));
  EXPECT_TRUE(notices_->watched(alice));
  EXPECT_FALSE(notices_->watched(bob));
  notices_->unwatch(alice);
  notices_->unwatch(bob);
  notices_->tell(alice, {});
  notices_->tell_all_to_look();
  EXPECT_THAT(of_alice_, IsEmpty());
  EXPECT_FALSE(notices_->watched(alice));
  EXPECT_EQ(notices_->size(), 0U);
}

TEST_F(NoticesTest, AClaimHasOneWaker) {
  notices_->watch(alice, into(of_alice_));
  notices_->watch(alice, into(of_bob_));
  notices_->tell(alice, {});
  EXPECT_THAT(of_alice_, IsEmpty());
  EXPECT_THAT(of_bob_, ElementsAre(What::look_again));
  EXPECT_EQ(notices_->size(), 1U);
}

TEST_F(NoticesTest, AllAreToldToLook) {
  notices_->watch(alice, into(of_alice_));
  notices_->watch(bob, into(of_bob_));
  notices_->tell_all_to_look();
  EXPECT_THAT(of_alice_, ElementsAre(What::look_again));
  EXPECT_THAT(of_bob_, ElementsAre(What::look_again));
}

// With the mutex held these would never return.
TEST_F(NoticesTest, AWakerMayUseTheRegistry) {
  notices_->watch(alice, [&](const Notice&) {
    notices_->watch(bob, into(of_bob_));
    notices_->unwatch(alice);
  });
  notices_->tell(alice, {});
  EXPECT_FALSE(notices_->watched(alice));
  EXPECT_TRUE(notices_->watched(bob));
}

TEST_F(NoticesTest, WhatAWakerHasCapturedMayUseTheRegistryWhenItEnds) {
  struct Captured {
    Captured(const Notices& registry, std::size_t& into) : notices(registry), size(into) {}
    ~Captured() { size = notices.size(); }
    const Notices& notices;
    std::size_t& size;
  };
  std::size_t size = 99;
  const auto make = [&] { return [captured = std::make_shared<Captured>(*notices_, size)](const Notice&) {}; };
  notices_->watch(alice, make());
  notices_->watch(alice, into(of_alice_));
  EXPECT_EQ(size, 1U) << "replaced";
  notices_->watch(alice, make());
  notices_->unwatch(alice);
  EXPECT_EQ(size, 0U) << "removed";
}

TEST_F(NoticesTest, TheWakersOfAClientEndWithIt) {
  {
    ClientNotices client;
    client.watch(notices_, alice, into(of_alice_));
    notices_->watch(bob, into(of_bob_));
  }
  notices_->tell_all_to_look();
  EXPECT_THAT(of_alice_, IsEmpty());
  EXPECT_THAT(of_bob_, ElementsAre(What::look_again)) << "of another client";
}

TEST_F(NoticesTest, AClientUnwatchesWhatItWatches) {
  ClientNotices client;
  client.watch(notices_, alice, into(of_alice_));
  notices_->watch(bob, into(of_bob_));
  client.unwatch(alice);
  client.unwatch(bob);
  EXPECT_FALSE(notices_->watched(alice));
  EXPECT_TRUE(notices_->watched(bob)) << "of another client";
}

TEST_F(NoticesTest, AClientMayOutliveTheRegistry) {
  ClientNotices client;
  client.watch(notices_, alice, into(of_alice_));
  client.watch(notices_, bob, into(of_bob_));
  notices_.reset();
  client.unwatch(alice);
  EXPECT_THAT(of_alice_, IsEmpty());
}

}  // namespace
}  // namespace pawl::store
