#include "store/rules.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace pawl::store {
namespace {

constexpr std::uint32_t none = 0;

Claim wish(Kind kind, Mode mode = Mode::exclusive, Claim::Permits permits = {}) {
  Claim claim{.id = {}, .session = {}, .key = {kind, LockName::make("job").value()}};
  claim.mode = mode;
  claim.permits = permits;
  return claim;
}

// check_sound

TEST(CheckSoundTest, EveryKindCanBeHadAlone) {
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::election}) {
    EXPECT_TRUE(check_sound(wish(kind), std::nullopt));
    EXPECT_TRUE(check_sound(wish(kind), none)) << "somebody uses it, and there are no permits to agree on";
  }
}

TEST(CheckSoundTest, OnlyRwCanBeShared) {
  EXPECT_TRUE(check_sound(wish(Kind::rw, Mode::shared), std::nullopt));
  EXPECT_TRUE(check_sound(wish(Kind::rw, Mode::shared), none));
  for (const Kind kind : {Kind::mutex, Kind::permits, Kind::election}) {
    const Result<void> sound = check_sound(wish(kind, Mode::shared, {1, 1}), std::nullopt);
    EXPECT_EQ(sound.code(), Errc::invalid_argument) << to_string(kind);
    EXPECT_EQ(sound.error().message, "only a SharedMutex can be shared");
  }
}

TEST(CheckSoundTest, PermitsAreAtLeastOneAndAtMostAll) {
  const auto sound = [](std::uint32_t wanted, std::uint32_t of) {
    return check_sound(wish(Kind::permits, Mode::exclusive, {wanted, of}), std::nullopt);
  };
  EXPECT_TRUE(sound(1, 1));
  EXPECT_TRUE(sound(1, 3));
  EXPECT_TRUE(sound(3, 3));
  EXPECT_EQ(sound(0, 3).code(), Errc::invalid_argument);
  EXPECT_EQ(sound(0, 0).code(), Errc::invalid_argument);
  EXPECT_EQ(sound(4, 3).code(), Errc::invalid_argument);
  EXPECT_EQ(sound(4, 3).error().message, "4 permits of 3 can never be had");
}

TEST(CheckSoundTest, TheNumberOfPermitsIsAgreedOnWhileTheyAreUsed) {
  const Claim claim = wish(Kind::permits, Mode::exclusive, {1, 3});
  EXPECT_TRUE(check_sound(claim, std::nullopt));
  EXPECT_TRUE(check_sound(claim, 3));
  EXPECT_EQ(check_sound(claim, 4).code(), Errc::invalid_argument);
  EXPECT_EQ(check_sound(claim, 4).error().message, "\"job\" has 4 permits for those who use it now, not 3");
}

// fits

constexpr Occupied free_of_all{};
constexpr Occupied by_readers{.by_anybody = true};
constexpr Occupied by_a_writer{.by_exclusive = true, .by_anybody = true};

TEST(FitsTest, ExclusiveFitsBesideNobody) {
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::election}) {
    EXPECT_TRUE(fits(kind, Mode::exclusive, none, free_of_all));
    EXPECT_FALSE(fits(kind, Mode::exclusive, none, by_a_writer));
  }
  EXPECT_FALSE(fits(Kind::rw, Mode::exclusive, none, by_readers));
}

TEST(FitsTest, SharedFitsBesideShared) {
  EXPECT_TRUE(fits(Kind::rw, Mode::shared, none, free_of_all));
  EXPECT_TRUE(fits(Kind::rw, Mode::shared, none, by_readers));
  EXPECT_FALSE(fits(Kind::rw, Mode::shared, none, by_a_writer));
}

TEST(FitsTest, PermitsFitWhileThereAreEnoughWhoeverHasTheOthers) {
  const auto fit = [](std::uint32_t wanted, std::uint32_t left) {
    const Occupied occupied{.by_exclusive = true, .by_anybody = true, .free_permits = left};
    return fits(Kind::permits, Mode::exclusive, wanted, occupied);
  };
  EXPECT_TRUE(fit(1, 1));
  EXPECT_TRUE(fit(2, 3));
  EXPECT_FALSE(fit(1, 0));
  EXPECT_FALSE(fit(3, 2)) << "all or none";
}

// may_pass, is_news_to_a_holder

TEST(RulesTest, OnlyWhatSaysNothingOfTheLockMayPass) {
  for (const Errc code : {Errc::store_unavailable, Errc::outcome_unknown}) EXPECT_TRUE(may_pass(code));
  for (const Errc code : {Errc::busy, Errc::lost, Errc::permission_denied, Errc::unsupported, Errc::not_owner}) {
    EXPECT_FALSE(may_pass(code)) << to_string(code);
  }
}

TEST(RulesTest, WhatAWaiterIsToldIsNoNewsToAHolder) {
  using What = Notice::What;
  for (const What what : {What::contended, What::release_requested, What::gone}) EXPECT_TRUE(is_news_to_a_holder(what));
  for (const What what : {What::look_again, What::granted}) EXPECT_FALSE(is_news_to_a_holder(what));
}

}  // namespace
}  // namespace pawl::store
