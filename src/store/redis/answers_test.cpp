#include "store/redis/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::store::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Type = Reply::Type;

Reply text(std::string bytes) { return {.type = Type::text, .text = std::move(bytes)}; }
Reply number(std::int64_t value) { return {.type = Type::integer, .integer = value}; }
Reply error(std::string bytes) { return {.type = Type::error, .text = std::move(bytes)}; }
Reply nil() { return {}; }
Reply array(std::vector<Reply> items) { return {.type = Type::array, .items = std::move(items)}; }

const LockKey job{Kind::mutex, LockName::make("job").value()};

Claim claim_for(const LockKey& key, Claim::Permits permits = {}) {
  Claim claim{.id = {1, 2}, .session = {3, 4}, .key = key};
  claim.permits = permits;
  return claim;
}

Result<ClaimState> state(std::vector<Reply> items) { return state_of(array(std::move(items)), claim_for(job)); }

/// What no script answers, for any question.
std::vector<Reply> strange_replies() {
  return {nil(),
          number(1),
          text("granted"),
          text(""),
          error("ERR no"),
          array({}),
          array({nil()}),
          array({number(1)}),
          array({text("")}),
          array({text("who knows")}),
          array({array({text("granted")})}),
          array({error("granted"), text("1"), text("2"), number(0), text("")}),
          array({text("GRANTED"), text("1"), text("2"), number(0), text("")})};
}

// Numbers

TEST(RedisNumbersTest, MillisecondsAreNeverFewerThanTheDuration) {
  EXPECT_EQ(milliseconds(0ns), "0");
  EXPECT_EQ(milliseconds(1ns), "1");
  EXPECT_EQ(milliseconds(1ms), "1");
  EXPECT_EQ(milliseconds(1ms + 1ns), "2");
  EXPECT_EQ(milliseconds(30s), "30000");
  EXPECT_EQ(milliseconds(Duration::max()), "9223372036855");
}

TEST(RedisNumbersTest, MillisecondsComeAsNumberOrText) {
  EXPECT_EQ(from_milliseconds(number(1500)), 1500ms);
  EXPECT_EQ(from_milliseconds(text("1500")), 1500ms);
  EXPECT_EQ(from_milliseconds(number(-2)), -2ms);
  for (const Reply& none : {nil(), text(""), text("soon"), error("ERR 5"), array({number(5)})}) {
    EXPECT_EQ(from_milliseconds(none), 0ms);
  }
}

// Somebody else's key may have any time to live.
TEST(RedisNumbersTest, AgesAreNotAMoment) {
  EXPECT_GT(from_milliseconds(number(std::numeric_limits<std::int64_t>::max())), 24h * 365);
  EXPECT_GT(from_milliseconds(number(9'000'000'000'000'000'000)), 24h * 365);
  EXPECT_LT(from_milliseconds(number(std::numeric_limits<std::int64_t>::min())), 0ms);
}

TEST(RedisNumbersTest, AWholeNumberIsItsDigits) {
  EXPECT_EQ(whole("0"), 0u);
  EXPECT_EQ(whole("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const std::string_view none : {"", "x", "-1", "18446744073709551616"}) EXPECT_EQ(whole(none), 0u) << none;
}

TEST(RedisNumbersTest, ATokenIsAnEpochAndACounter) {
  EXPECT_EQ(token_of(text("1700000000000"), text("42")), Token(1'700'000'000'000, 42));
  EXPECT_EQ(token_of(text(""), text("")), Token());
  EXPECT_EQ(token_of(nil(), array({})), Token());
}

TEST(RedisNumbersTest, SlotsStandBetweenCommas) {
  EXPECT_THAT(slots_of(text("")), IsEmpty());
  EXPECT_THAT(slots_of(nil()), IsEmpty());
  EXPECT_THAT(slots_of(text("7")), ElementsAre(7));
  EXPECT_THAT(slots_of(text("0,3,12")), ElementsAre(0, 3, 12));
  EXPECT_THAT(slots_of(text("3,")), ElementsAre(3));
}

// state_of

TEST(RedisClaimAnswerTest, GrantedHasATokenAndMore) {
  const Granted mutex = std::get<Granted>(state({text("granted"), text("17"), text("5"), number(0), text("")}).value());
  EXPECT_EQ(mutex.token, Token(17, 5));
  EXPECT_FALSE(mutex.contended);
  EXPECT_THAT(mutex.slots, IsEmpty());
  const Granted permits =
      std::get<Granted>(state({text("granted"), text("17"), text("6"), number(1), text("0,2")}).value());
  EXPECT_EQ(permits.token, Token(17, 6));
  EXPECT_TRUE(permits.contended);
  EXPECT_THAT(permits.slots, ElementsAre(0, 2));
}

TEST(RedisClaimAnswerTest, WaitingSaysWhenToLookAgain) {
  const Waiting waiting = std::get<Waiting>(state({text("waiting"), text("333"), number(-1)}).value());
  EXPECT_EQ(waiting.look_again_in, 333ms);
  EXPECT_EQ(waiting.ahead, std::nullopt);
  EXPECT_FALSE(waiting.holder);
}

TEST(RedisClaimAnswerTest, WaitingMayKnowHowManyAreAhead) {
  EXPECT_EQ(std::get<Waiting>(state({text("waiting"), number(5), number(0)}).value()).ahead, 0u);
  EXPECT_EQ(std::get<Waiting>(state({text("waiting"), number(5), text("12")}).value()).ahead, 12u);
}

TEST(RedisClaimAnswerTest, WaitingMayKnowTheHolder) {
  const Waiting waiting = std::get<Waiting>(
      state({text("waiting"), number(5), number(0), text("db7"), text("4711"), text("nightly")}).value());
  ASSERT_TRUE(waiting.holder);
  EXPECT_EQ(waiting.holder->host, "db7");
  EXPECT_EQ(waiting.holder->pid, 4711);
  EXPECT_EQ(waiting.holder->label, "nightly");
  EXPECT_FALSE(waiting.holder->foreign);
}

TEST(RedisClaimAnswerTest, WaitingMayKnowThatTheHolderIsForeign) {
  const Waiting waiting = std::get<Waiting>(state({text("waiting"), number(5), number(-1), text("foreign")}).value());
  ASSERT_TRUE(waiting.holder);
  EXPECT_TRUE(waiting.holder->foreign);
  EXPECT_EQ(waiting.holder->host, "");
}

TEST(RedisClaimAnswerTest, WaitingMayKnowTheLockDelay) {
  const Waiting waiting =
      std::get<Waiting>(state({text("waiting"), number(5), number(-1), text("shut"), text("1500")}).value());
  EXPECT_EQ(waiting.shut_for, 1500ms);
  EXPECT_FALSE(waiting.holder);
}

TEST(RedisClaimAnswerTest, WaitingMayKnowHowManyPermitsAreTaken) {
  const Waiting waiting = std::get<Waiting>(
      state({text("waiting"), number(5), number(-1), text("permits"), text("4"), text("2"), text("1")}).value());
  EXPECT_EQ(waiting.permits, (Waiting::Permits{.taken = 2, .in_lock_delay = 1}));
}

TEST(RedisClaimAnswerTest, ASessionThatHasEndedIsALoss) {
  const Result<ClaimState> lost = state({text("lost")});
  EXPECT_EQ(lost.code(), Errc::lost);
  EXPECT_THAT(lost.error().message, HasSubstr("\"job\""));
}

TEST(RedisClaimAnswerTest, AClaimThatIsGoneIsNobodys) {
  const Result<ClaimState> gone = state({text("gone")});
  EXPECT_EQ(gone.code(), Errc::not_owner);
  EXPECT_THAT(gone.error().message, HasSubstr(to_string(claim_for(job).id)));
}

TEST(RedisClaimAnswerTest, AClaimOfAnotherLockIsAMistake) {
  EXPECT_EQ(state({text("other")}).code(), Errc::invalid_argument);
}

TEST(RedisClaimAnswerTest, AnotherNumberOfPermitsIsAMistake) {
  const Claim claim = claim_for({Kind::permits, LockName::make("job").value()}, {1, 3});
  const Result<ClaimState> wrong = state_of(array({text("permits"), text("4")}), claim);
  EXPECT_EQ(wrong.code(), Errc::invalid_argument);
  EXPECT_EQ(wrong.error().message, "\"job\" has 4 permits for those who use it now, not 3");
  // The server refuses, and there is nothing to refuse.
  EXPECT_EQ(state_of(array({text("permits"), text("3")}), claim).code(), unexpected().code);
}

TEST(RedisClaimAnswerTest, AnythingElseIsUnexpected) {
  std::vector<Reply> strange = strange_replies();
  strange.push_back(array({text("granted")}));
  strange.push_back(array({text("granted"), text("1"), text("2"), number(0)}));
  strange.push_back(array({text("granted"), text("1"), text("2"), number(0), text(""), text("")}));
  strange.push_back(array({text("waiting")}));
  strange.push_back(array({text("waiting"), number(5)}));
  strange.push_back(array({text("permits")}));
  strange.push_back(array({text("permits"), text("1"), text("1")}));
  for (std::size_t i = 0; i < strange.size(); ++i) {
    const Result<ClaimState> state = state_of(strange[i], claim_for(job));
    ASSERT_EQ(state.code(), Errc::store_unavailable) << i;
    EXPECT_EQ(state.error().message, unexpected().message) << i;
  }
}

TEST(RedisClaimAnswerTest, StrangeItemsDoNoHarm) {
  const auto granted = state({text("granted"), nil(), array({}), error("x"), number(3)});
  EXPECT_EQ(std::get<Granted>(granted.value()).token, Token());
  const auto waiting = state({text("waiting"), nil(), nil(), array({}), number(1), nil()});
  EXPECT_EQ(std::get<Waiting>(waiting.value()).look_again_in, 0ms);
  const auto five = state({text("waiting"), number(5), number(0), text("db7"), text("4711")});
  EXPECT_FALSE(std::get<Waiting>(five.value()).holder) << "half an owner is none";
}

// standing_of

TEST(RedisStandingTest, HeldHasATokenAndMore) {
  const Standing standing =
      standing_of(array({text("held"), text("17"), text("5"), number(1), text("1"), text("0,2")}));
  EXPECT_EQ(standing.place, Standing::Place::held);
  EXPECT_EQ(standing.token, Token(17, 5));
  EXPECT_TRUE(standing.contended);
  EXPECT_TRUE(standing.release_requested);
  EXPECT_THAT(standing.slots, ElementsAre(0, 2));
}

TEST(RedisStandingTest, HeldByOneWhomNobodyAsks) {
  const Standing standing = standing_of(array({text("held"), text("17"), text("5"), number(0), text(""), text("")}));
  EXPECT_EQ(standing.place, Standing::Place::held);
  EXPECT_FALSE(standing.contended);
  EXPECT_FALSE(standing.release_requested);
  EXPECT_THAT(standing.slots, IsEmpty());
}

TEST(RedisStandingTest, WaitingIsNoMoreThanThat) {
  EXPECT_EQ(standing_of(array({text("waiting")})).place, Standing::Place::waiting);
}

TEST(RedisStandingTest, GoneIsWhateverIsNeither) {
  EXPECT_EQ(standing_of(array({text("gone")})).place, Standing::Place::gone);
  for (const Reply& reply : strange_replies()) EXPECT_EQ(standing_of(reply).place, Standing::Place::gone);
  EXPECT_EQ(standing_of(array({text("held"), text("17")})).token, Token());
}

// view_of

/// id, mode, host, pid, label, age, epoch, counter, slots, permits, value, lease left, asked for.
Reply holder() {
  return array({text("00000000000000010000000000000002"), text("s"), text("db7"), text("4711"), text("nightly"),
                number(1500), text("17"), text("5"), text("0,2"), text("2"), text("blue"), number(30'000), text("1")});
}

Reply view(std::vector<Reply> holders, std::vector<Reply> waiters) {
  return array({text("job"), text("3"), number(250), array(std::move(holders)), array(std::move(waiters))});
}

TEST(RedisViewTest, AHolderIsSeenWithAllThatIsKnown) {
  const LockView seen = view_of(job, "queue", view({holder()}, {})).value();
  EXPECT_EQ(seen.kind, Kind::mutex);
  EXPECT_EQ(seen.scheme, "queue");
  EXPECT_EQ(seen.name, "job");
  EXPECT_EQ(seen.permits, 3u);
  EXPECT_EQ(seen.shut_for, 250ms);
  EXPECT_THAT(seen.waiters, IsEmpty());
  ASSERT_EQ(seen.holders.size(), 1u);
  const ClaimView& one = seen.holders[0];
  EXPECT_EQ(one.claim, "00000000000000010000000000000002");
  EXPECT_EQ(one.mode, Mode::shared);
  EXPECT_EQ(one.owner.host, "db7");
  EXPECT_EQ(one.owner.pid, 4711);
  EXPECT_EQ(one.owner.label, "nightly");
  EXPECT_FALSE(one.owner.foreign);
  EXPECT_EQ(one.age, 1500ms);
  EXPECT_EQ(one.token, Token(17, 5));
  EXPECT_THAT(one.slots, ElementsAre(0, 2));
  EXPECT_EQ(one.permits, 2u);
  EXPECT_EQ(one.value, "blue");
  EXPECT_EQ(one.lease_left, 30s);
  EXPECT_TRUE(one.release_requested);
}

TEST(RedisViewTest, WaitersKeepTheirOrder) {
  Reply second = holder();
  second.items[0] = text("second");
  second.items[1] = text("x");
  second.items[12] = text("");
  const LockView seen = view_of(job, "queue", view({}, {holder(), second})).value();
  ASSERT_EQ(seen.waiters.size(), 2u);
  EXPECT_EQ(seen.waiters[0].mode, Mode::shared);
  EXPECT_EQ(seen.waiters[1].claim, "second");
  EXPECT_EQ(seen.waiters[1].mode, Mode::exclusive);
  EXPECT_FALSE(seen.waiters[1].release_requested);
  EXPECT_THAT(seen.holders, IsEmpty());
}

TEST(RedisViewTest, AForeignHolderIsSeenAsSuch) {
  const Reply with_time = array({text("foreign"), number(700)});
  const Reply for_ever = array({text("foreign"), number(-1)});
  const LockView seen = view_of(job, "simple", view({with_time, for_ever}, {})).value();
  ASSERT_EQ(seen.holders.size(), 2u);
  EXPECT_TRUE(seen.holders[0].owner.foreign);
  EXPECT_EQ(seen.holders[0].lease_left, 700ms);
  EXPECT_TRUE(seen.holders[1].owner.foreign);
  EXPECT_EQ(seen.holders[1].lease_left, 0ms) << "it has no time to live";
}

TEST(RedisViewTest, WhatIsNoClaimIsLeftOut) {
  const std::vector<Reply> strange = {nil(), text("x"), array({}), array({text("x")}), array({nil(), nil(), nil()})};
  const LockView seen = view_of(job, "queue", view(strange, strange)).value();
  EXPECT_THAT(seen.holders, IsEmpty());
  EXPECT_THAT(seen.waiters, IsEmpty());
}

TEST(RedisViewTest, StrangeItemsDoNoHarm) {
  const Reply nothing_known = array(std::vector<Reply>(13));
  const LockView seen = view_of(job, "queue", view({nothing_known}, {})).value();
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].claim, "");
  EXPECT_EQ(seen.holders[0].token, Token());
}

TEST(RedisViewTest, AnythingElseIsALockThatNobodyUses) {
  for (const Reply& reply : strange_replies()) {
    if (reply.items.size() == 5) continue;  // these are not asked what a claim is
    EXPECT_FALSE(view_of(job, "queue", reply));
  }
  EXPECT_FALSE(view_of(job, "queue", array({text("job"), text("3"), number(250), array({})})));
}

// Renewals

TEST(RedisRenewalTest, NamesTheClaimsThatWereSentALetter) {
  const ClaimId one{1, 2}, other{3, 4};
  const Renewal renewal = renewal_of(array({text("0"), text("7"), text(to_string(one)), text(to_string(other))}));
  EXPECT_EQ(renewal.changes, 7U);
  EXPECT_THAT(renewal.changed.value(), ElementsAre(one, other));
  EXPECT_THAT(renewal_of(array({text("0"), text("0")})).changed.value(), IsEmpty());
}

TEST(RedisRenewalTest, NamesNoneWhereThereAreTooMany) {
  const Renewal renewal = renewal_of(array({text("0"), text("7"), text("many")}));
  EXPECT_EQ(renewal.changes, 7U);
  EXPECT_FALSE(renewal.changed);
}

}  // namespace
}  // namespace pawl::store::redis
