#include "lock/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr store::Capabilities able{
    .store = "memory", .scheme = "queue", .lock_delay = true, .shortest_lease = 100ms, .longest_lease = 24h};
constexpr store::Capabilities unable{.store = "mysql", .scheme = "for-update"};

Error refused(const AcquireOptions& options, const store::Capabilities& by = able) {
  return make_request(options, {}, {}, by).error();
}

// three levels

TEST(SettingsTest, WhatNobodySetHasADefault) {
  const local::Request request = make_request({}, {}, {}, able).value();
  EXPECT_EQ(request.terms.lease, 30s);
  EXPECT_EQ(request.terms.lock_delay, 0s);
  EXPECT_FALSE(request.wait);
  EXPECT_FALSE(request.max_hold);
  EXPECT_EQ(request.label, "");
}

TEST(SettingsTest, ALevelStandsOverTheOneBelowFieldByField) {
  const Defaults client{.lease = 10s, .lock_delay = 1s, .max_hold = 1h, .label = "client"};
  const Defaults lock{.lease = 20s, .label = "lock"};
  const Defaults both = lock.over(client);
  EXPECT_EQ(both.lease, 20s);
  EXPECT_EQ(both.lock_delay, 1s);
  EXPECT_EQ(both.max_hold, 1h);
  EXPECT_EQ(both.label, "lock");
}

TEST(SettingsTest, AnAcquisitionStandsOverBoth) {
  const Defaults below{.lease = 20s, .lock_delay = 1s, .max_hold = 1h, .label = "lock"};
  const AcquireOptions options{.wait = 3s, .lease = 40s, .lock_delay = 0s, .max_hold = 2h, .label = "call"};
  const local::Request request = make_request(options, {}, below, able).value();
  EXPECT_EQ(request.terms.lease, 40s);
  EXPECT_EQ(request.terms.lock_delay, 0s) << "0 is a value, not unset";
  EXPECT_EQ(request.wait, 3s);
  EXPECT_EQ(request.max_hold, 2h);
  EXPECT_EQ(request.label, "call");
}

TEST(SettingsTest, AnAcquisitionThatSaysNothingTakesWhatIsBelow) {
  const Defaults below{.lease = 20s, .lock_delay = 1s, .max_hold = 1h, .label = "lock"};
  const local::Request request = make_request({}, {}, below, able).value();
  EXPECT_EQ(request.terms, (claim::Terms{20s, 1s}));
  EXPECT_EQ(request.max_hold, 1h);
  EXPECT_EQ(request.label, "lock");
}

TEST(SettingsTest, TheLabelIsCopied) {
  std::string text = "nightly";
  const local::Request request = make_request({.label = text}, {}, {}, able).value();
  text = "changed";
  EXPECT_EQ(request.label, "nightly");
}

// what is refused, and in which words

TEST(SettingsTest, AWaitMayBeZeroButNotNegative) {
  EXPECT_EQ(make_request({.wait = 0s}, {}, {}, able).value().wait, 0s);
  const Error error = refused({.wait = -1ns});
  EXPECT_EQ(error.code, Errc::invalid_argument);
  EXPECT_EQ(error.message, "wait is negative; leave it unset to wait for ever, or set 0 to try once");
}

TEST(SettingsTest, AMaxHoldIsAboveZero) {
  EXPECT_TRUE(make_request({.max_hold = 1ns}, {}, {}, able));
  for (const Duration bad : {Duration(0), Duration(-1)}) {
    EXPECT_EQ(refused({.max_hold = bad}).code, Errc::invalid_argument);
    EXPECT_EQ(refused({.max_hold = bad}).message, "max_hold must be above 0; leave it unset for no bound");
  }
}

TEST(SettingsTest, ALeaseIsWithinWhatTheSchemeTakes) {
  EXPECT_TRUE(make_request({.lease = 100ms}, {}, {}, able));
  EXPECT_TRUE(make_request({.lease = 24h}, {}, {}, able));
  EXPECT_EQ(refused({.lease = 99ms}).code, Errc::invalid_argument);
  EXPECT_EQ(refused({.lease = 99ms}).message, "lease is 99ms; memory/queue takes 100ms to 1d");
  EXPECT_EQ(refused({.lease = 25h}).message, "lease is 1d 1h; memory/queue takes 100ms to 1d");
  EXPECT_EQ(refused({.lease = 0s}).code, Errc::invalid_argument);
  EXPECT_EQ(refused({.lease = -5s}).code, Errc::invalid_argument);
}

TEST(SettingsTest, ALockDelayIsAMinuteAtTheMost) {
  EXPECT_TRUE(make_request({.lock_delay = 60s}, {}, {}, able));
  EXPECT_EQ(refused({.lock_delay = 61s}).message, "lock_delay is 1m 1s; it must be between 0 and 60s");
  EXPECT_EQ(refused({.lock_delay = -1s}).code, Errc::invalid_argument);
}

TEST(SettingsTest, ALockDelayIsRefusedWhereTheSchemeHasNone) {
  EXPECT_TRUE(make_request({.lock_delay = 0s}, {}, {}, unable));
  EXPECT_EQ(refused({.lock_delay = 1s}, unable).code, Errc::unsupported);
  EXPECT_EQ(refused({.lock_delay = 1s}, unable).message, "mysql/for-update has no lock-delay");
}

TEST(SettingsTest, ALabelHasALimit) {
  EXPECT_TRUE(make_request({.label = std::string(256, 'x')}, {}, {}, able));
  EXPECT_EQ(refused({.label = std::string(257, 'x')}).message, "a label can have 256 bytes at the most");
}

TEST(SettingsTest, WhatComesFromBelowIsCheckedToo) {
  EXPECT_EQ(make_request({}, {}, {.lease = 1ns}, able).code(), Errc::invalid_argument);
  EXPECT_EQ(make_request({}, {}, {.lock_delay = 1s}, unable).code(), Errc::unsupported);
  EXPECT_EQ(make_request({}, {}, {.max_hold = 0s}, able).code(), Errc::invalid_argument);
}

// what is wanted of the lock

TEST(SettingsTest, WhatNobodyWantsIsOneWhoIsAlone) {
  const local::Request request = make_request({}, {}, {}, able).value();
  EXPECT_EQ(request.terms.mode, Mode::exclusive);
  EXPECT_EQ(request.terms.permits, store::Claim::Permits{});
  EXPECT_EQ(request.value, "");
}

TEST(SettingsTest, WhatIsWantedIsPassedOn) {
  const Wanted wanted{.mode = Mode::shared, .permits = {2, 5}, .value = "host:80"};
  const local::Request request = make_request({.lease = 10s}, wanted, {.lock_delay = 1s}, able).value();
  EXPECT_EQ(request.terms, (claim::Terms{10s, 1s, Mode::shared, {2, 5}}));
  EXPECT_EQ(request.value, "host:80");
}

TEST(SettingsTest, OnlyEqualWishesHaveEqualTerms) {
  const auto terms = [](const Wanted& wanted) { return make_request({}, wanted, {}, able).value().terms; };
  EXPECT_EQ(terms({.mode = Mode::shared}), terms({.mode = Mode::shared}));
  EXPECT_NE(terms({.mode = Mode::shared}), terms({}));
  EXPECT_NE(terms({.permits = {1, 5}}), terms({.permits = {2, 5}}));
  EXPECT_NE(terms({.permits = {1, 5}}), terms({.permits = {1, 6}}));
}

TEST(SettingsTest, ACandidatesValueHasALimit) {
  EXPECT_TRUE(make_request({}, {.value = std::string(4096, 'x')}, {}, able));
  const Error error = make_request({}, {.value = std::string(4097, 'x')}, {}, able).error();
  EXPECT_EQ(error.code, Errc::invalid_argument);
  EXPECT_EQ(error.message, "a candidate's value can have 4096 bytes at the most");
}

// kinds

TEST(SettingsTest, EverySchemeHasMutexes) { EXPECT_TRUE(check_kind(Kind::mutex, unable)); }

TEST(SettingsTest, AnyOtherKindIsThereWhereTheSchemeSaysSo) {
  EXPECT_TRUE(check_kind(Kind::rw, {.shared_mode = true}));
  EXPECT_TRUE(check_kind(Kind::permits, {.permits = true}));
  EXPECT_TRUE(check_kind(Kind::election, {.election = true}));
}

TEST(SettingsTest, AKindThatTheSchemeHasNotIsUnsupported) {
  for (const Kind kind : {Kind::rw, Kind::permits, Kind::election}) {
    EXPECT_EQ(check_kind(kind, unable).code(), Errc::unsupported);
    EXPECT_EQ(check_kind(kind, unable).error().message, "mysql/for-update has no " + std::string(to_string(kind)));
  }
  EXPECT_FALSE(check_kind(Kind::rw, {.permits = true, .election = true})) << "one says nothing of another";
  EXPECT_FALSE(check_kind(Kind::permits, {.shared_mode = true, .election = true}));
  EXPECT_FALSE(check_kind(Kind::election, {.shared_mode = true, .permits = true}));
}

}  // namespace
}  // namespace pawl::lock
