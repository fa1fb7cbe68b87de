#include "store/file/tables.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace pawl::store::file {
namespace {

using namespace std::chrono_literals;
using What = Notice::What;

constexpr std::uint64_t epoch = 1'700'000'000'000;

/// Everybody lives until it is said otherwise.
struct FakeRoll final : Roll {
  bool alive(ProcessKey process) const override { return !dead.contains(process); }
  std::set<ProcessKey> dead = {};
};

/// A client in a process of its own.
struct Actor {
  ProcessKey process = 0;
  SessionId session = {};
};

class TablesTest : public testing::Test {
 protected:
  /// One transaction, with the sweep that every one begins with.
  template <class Call>
  auto in(Call call) {
    Transaction transaction(database_);
    Tables tables(transaction, now_, roll_);
    tables.sweep();
    using Answer = decltype(call(tables));
    if constexpr (std::is_void_v<Answer>) {
      call(tables);
      finish(transaction, tables);
    } else {
      Answer answer = call(tables);
      finish(transaction, tables);
      return answer;
    }
  }

  void SetUp() override {
    in([](Tables& tables) {
      tables.counters().epoch = epoch;
      tables.counters().reserved = 1000;
    });
  }

  void finish(Transaction& transaction, Tables& tables) {
    tables.save();
    fault_ = transaction.commit();
    for (const Letter& letter : tables.letters()) letters_.push_back(letter);
  }

  Actor actor(Duration lease = 30s) {
    ++actors_;
    const Actor actor{actors_, {actors_, 1}};
    SessionRecord record{.lease = lease, .process = actor.process, .mailbox = 7};
    record.owner = {.host = "here", .pid = static_cast<std::int64_t>(actors_), .label = "somebody"};
    in([&](Tables& tables) { tables.open_session(actor.session, record); });
    return actor;
  }

  Claim wish(const Actor& actor, const std::string& name = "job") {
    return {.id = {++claims_, 1},
            .session = actor.session,
            .key = {Kind::mutex, LockName::make(name).value()},
            .lease = 30s};
  }

  Result<ClaimState> claim(const Claim& claim) {
    return in([&](Tables& tables) { return tables.claim(claim); });
  }
  std::optional<Granted> granted(const Claim& wish) {
    const Result<ClaimState> state = claim(wish);
    if (!state || !std::holds_alternative<Granted>(*state)) return std::nullopt;
    return std::get<Granted>(*state);
  }
  std::optional<Waiting> waiting(const Claim& wish) {
    const Result<ClaimState> state = claim(wish);
    if (!state || !std::holds_alternative<Waiting>(*state)) return std::nullopt;
    return std::get<Waiting>(*state);
  }
  Withdrawn withdraw(const Claim& claim, Withdrawal how = {}) {
    return in([&](Tables& tables) { return tables.withdraw(claim, how); });
  }
  Standing look(const Claim& claim) {
    return in([&](Tables& tables) { return tables.look(claim); });
  }
  LockView inspect(const std::string& name = "job") {
    return in([&](Tables& tables) { return tables.inspect({Kind::mutex, LockName::make(name).value()}); });
  }
  std::vector<What> told(const Claim& claim) const {
    std::vector<What> all;
    for (const Letter& letter : letters_) {
      if (letter.to == claim.id) all.push_back(letter.notice.what);
    }
    return all;
  }
  /// How many records there are in all.
  std::size_t records() {
    Transaction transaction(database_);
    std::size_t count = 0;
    for (const char table : std::string("dlqsxy")) {
      const Key prefix(table);
      for (auto entry = transaction.first(prefix); entry;
           entry = transaction.after(Key(entry->key.front()).text(entry->key.substr(1)), prefix.view())) {
        ++count;
      }
    }
    return count;
  }

  const test::TemporaryFolder folder_;
  Database database_ = Database::open(folder_ / "locks", 0600, folder_ / "locks").value();
  FakeRoll roll_;
  Time now_{100s};
  std::uint64_t actors_ = 0;
  std::uint64_t claims_ = 0;
  std::vector<Letter> letters_;
  int fault_ = 0;
};

TEST_F(TablesTest, AFreeLockIsGrantedWithTheNextToken) {
  const Actor alice = actor();
  EXPECT_EQ(granted(wish(alice))->token, Token(epoch, 1));
  EXPECT_EQ(granted(wish(alice, "other"))->token, Token(epoch, 2));
}

TEST_F(TablesTest, AClaimIsIdempotent) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice), next = wish(bob);
  const Token token = granted(held)->token;
  EXPECT_EQ(granted(held)->token, token);
  EXPECT_TRUE(waiting(next));
  EXPECT_TRUE(waiting(next));
  EXPECT_EQ(inspect().waiters.size(), 1u);
  EXPECT_TRUE(granted(held)->contended);
}

TEST_F(TablesTest, AClaimOfAnotherLockOrSessionIsRefused) {
  const Actor alice = actor();
  Claim claim = wish(alice);
  ASSERT_TRUE(granted(claim));
  claim.key.name = LockName::make("other").value();
  EXPECT_EQ(this->claim(claim).code(), Errc::invalid_argument);
  EXPECT_EQ(withdraw(claim), Withdrawn::not_there);
  claim = wish(alice);
  claim.session = {99, 99};
  EXPECT_EQ(this->claim(claim).code(), Errc::lost);
  claim = wish(alice);
  claim.mode = Mode::shared;
  EXPECT_EQ(this->claim(claim).code(), Errc::unsupported);
}

TEST_F(TablesTest, TheReleasePassesTheLockOnAndTellsExactlyTheNext) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = wish(alice), second = wish(bob), third = wish(carol);
  ASSERT_TRUE(granted(first) && waiting(second) && waiting(third));
  letters_.clear();
  EXPECT_EQ(withdraw(first), Withdrawn::done);
  ASSERT_EQ(letters_.size(), 1u);
  EXPECT_EQ(letters_[0].to, second.id);
  EXPECT_EQ(letters_[0].process, bob.process);
  EXPECT_EQ(letters_[0].notice.what, What::granted);
  EXPECT_TRUE(letters_[0].notice.grant.contended);
  EXPECT_EQ(granted(second)->token, letters_[0].notice.grant.token);
  EXPECT_EQ(withdraw(second), Withdrawn::done);
  EXPECT_EQ(look(third).place, Standing::Place::held);
}

TEST_F(TablesTest, NothingIsLeftOfWhatIsOver) {
  const Actor alice = actor(), bob = actor();
  const std::size_t before = records();
  const Claim first = wish(alice), second = wish(bob), third = wish(bob);
  ASSERT_TRUE(granted(first) && waiting(second) && waiting(third));
  EXPECT_EQ(withdraw(third), Withdrawn::done);
  EXPECT_EQ(withdraw(first), Withdrawn::done);
  EXPECT_EQ(withdraw(second), Withdrawn::done);
  EXPECT_EQ(records(), before);
  in([&](Tables& tables) {
    tables.close_session(alice.session);
    tables.close_session(bob.session);
  });
  EXPECT_EQ(records(), 0u);
}

TEST_F(TablesTest, ATryLeavesNoTrace) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice);
  ASSERT_TRUE(granted(held));
  const std::size_t before = records();
  Claim attempt = wish(bob);
  attempt.may_queue = false;
  const auto busy = waiting(attempt);
  ASSERT_TRUE(busy && busy->holder);
  EXPECT_EQ(busy->holder->pid, 1);
  EXPECT_EQ(records(), before);
  EXPECT_TRUE(told(held).empty());
}

TEST_F(TablesTest, TheHolderHearsOfTheFirstWaiterOnly) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice), second = wish(bob), third = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(second) && waiting(third));
  EXPECT_EQ(told(held), std::vector<What>{What::contended});
}

TEST_F(TablesTest, ASessionEndsWithItsLease) {
  const Actor alice = actor(3s), bob = actor(60s);
  const Claim held = wish(alice), next = wish(bob);
  ASSERT_TRUE(granted(held));
  EXPECT_LE(waiting(next)->look_again_in, 3s + 1ms);
  now_ += 3s - 1ns;
  EXPECT_TRUE(waiting(next));
  now_ += 1ns;
  EXPECT_TRUE(granted(next));
  EXPECT_EQ(claim(held).code(), Errc::lost);
  EXPECT_EQ(withdraw(held), Withdrawn::not_there);
  EXPECT_EQ(in([&](Tables& tables) { return tables.renew(alice.session); }).code(), Errc::lost);
}

TEST_F(TablesTest, ARenewalMovesTheEndAndTellsOfChanges) {
  const Actor alice = actor(3s), bob = actor(60s);
  const Claim held = wish(alice);
  ASSERT_TRUE(granted(held));
  now_ += 2s;
  EXPECT_EQ(in([&](Tables& tables) { return tables.renew(alice.session); }).value().changes, 0u);
  ASSERT_TRUE(waiting(wish(bob)));
  now_ += 2s;
  EXPECT_EQ(in([&](Tables& tables) { return tables.renew(alice.session); }).value().changes, 1u);
  EXPECT_EQ(look(held).place, Standing::Place::held);
}

TEST_F(TablesTest, NoGrantGoesToASessionThatIsOverToo) {
  const Actor alice = actor(3s), bob = actor(4s), carol = actor(60s);
  const Claim held = wish(alice), dead = wish(bob), next = wish(carol);
  ASSERT_TRUE(granted(held) && waiting(dead) && waiting(next));
  now_ += 10s;  // nobody asked anything meanwhile
  EXPECT_EQ(granted(next)->token, Token(epoch, 2));
  EXPECT_TRUE(told(dead).empty());
}

TEST_F(TablesTest, ADeadHolderIsBuriedByWhoeverClaims) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice), other = wish(alice, "other");
  ASSERT_TRUE(granted(held) && granted(other));
  roll_.dead.insert(alice.process);
  EXPECT_TRUE(granted(wish(bob)));
  EXPECT_TRUE(inspect("other").holders.empty());
  EXPECT_EQ(claim(held).code(), Errc::lost);
}

TEST_F(TablesTest, ADeadHeadIsPassedOverAtTheRelease) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim held = wish(alice), dead = wish(bob), next = wish(carol);
  ASSERT_TRUE(granted(held) && waiting(dead) && waiting(next));
  roll_.dead.insert(bob.process);
  withdraw(held);
  EXPECT_EQ(look(next).place, Standing::Place::held);
  EXPECT_TRUE(told(dead).empty());
}

TEST_F(TablesTest, AWaiterIsToldWhomToWatch) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim held = wish(alice), second = wish(bob), third = wish(carol);
  ASSERT_TRUE(granted(held));
  const auto ahead_of = [&](const Claim& claim) {
    return in([&](Tables& tables) {
      [[maybe_unused]] auto state = tables.claim(claim);
      return tables.just_ahead();
    });
  };
  EXPECT_EQ(ahead_of(second), alice.process);
  EXPECT_EQ(ahead_of(third), bob.process);
  EXPECT_EQ(ahead_of(held), std::nullopt);
  withdraw(second);
  EXPECT_EQ(told(third), std::vector<What>{What::look_again}) << "the one it watched has left";
  EXPECT_EQ(ahead_of(third), alice.process);
}

TEST_F(TablesTest, LockDelayCountsFromTheExpiryOrFromTheDiscoveryOfADeath) {
  const Actor alice = actor(3s), bob = actor(600s), carol = actor(600s);
  Claim held = wish(alice);
  held.lock_delay = 5s;
  const Claim next = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(next));
  now_ += 6s;
  const auto state = waiting(next);
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->holder);
  EXPECT_EQ(state->look_again_in, 2s + 1ms);
  EXPECT_EQ(inspect().shut_for, 2s);
  EXPECT_EQ(told(next), std::vector<What>{What::look_again}) << "it waits for the time now";
  now_ += 2s;
  ASSERT_TRUE(granted(next));

  Claim doomed = wish(carol, "other");
  doomed.lock_delay = 5s;
  ASSERT_TRUE(granted(doomed));
  now_ += 60s;
  roll_.dead.insert(carol.process);
  EXPECT_EQ(inspect("other").shut_for, 5s);
  now_ += 5s;
  EXPECT_TRUE(granted(wish(bob, "other")));
}

TEST_F(TablesTest, AnybodysRequestEndsALockDelay) {
  const Actor alice = actor(), bob = actor();
  Claim held = wish(alice);
  held.lock_delay = 5s;
  const Claim next = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(next));
  withdraw(held, {.ending = Ending::failed});
  EXPECT_EQ(look(next).place, Standing::Place::waiting);
  now_ += 5s;
  in([&](Tables& tables) { return tables.renew(alice.session); }).value();
  EXPECT_EQ(told(next).back(), What::granted);
}

TEST_F(TablesTest, TombstonesRefuseLateRequestsAndEndWithTheirSession) {
  const Actor alice = actor(3s);
  const Claim late = wish(alice);
  EXPECT_EQ(withdraw(late, {.unsettled = true}), Withdrawn::not_there);
  EXPECT_EQ(claim(late).code(), Errc::not_owner);
  now_ += 3s;
  EXPECT_EQ(withdraw(late, {.unsettled = true}), Withdrawn::not_there);
  EXPECT_EQ(records(), 0u);
}

TEST_F(TablesTest, TakingAwayConcernsOneClaim) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim held = wish(alice), second = wish(bob), third = wish(carol);
  ASSERT_TRUE(granted(held) && waiting(second) && waiting(third));
  const auto take_away = [&](const Claim& claim) {
    return in([&](Tables& tables) { return tables.take_away(claim.key, claim.id); });
  };
  EXPECT_TRUE(take_away(second));
  EXPECT_EQ(claim(second).code(), Errc::not_owner);
  EXPECT_TRUE(take_away(held));
  EXPECT_FALSE(take_away(held));
  EXPECT_EQ(told(held).back(), What::gone);
  EXPECT_EQ(look(third).place, Standing::Place::held);
}

TEST_F(TablesTest, AskingReachesTheHolder) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice), next = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(next));
  const auto ask = [&](const Claim& claim) {
    return in([&](Tables& tables) { return tables.ask_to_release(claim.key, claim.id); });
  };
  EXPECT_TRUE(ask(held));
  EXPECT_FALSE(ask(next));
  EXPECT_TRUE(look(held).release_requested);
  EXPECT_EQ(told(held).back(), What::release_requested);
}

TEST_F(TablesTest, CheckKnowsTheStandingGrantWhateverItsSub) {
  const Actor alice = actor();
  const Claim held = wish(alice);
  const Token token = granted(held)->token;
  const auto check = [&](Token asked) { return in([&](Tables& tables) { return tables.check(held.key, asked); }); };
  EXPECT_TRUE(check(token.with_sub(9)));
  EXPECT_FALSE(check(Token(epoch, 2)));
  roll_.dead.insert(alice.process);
  EXPECT_FALSE(check(token));
}

TEST_F(TablesTest, WhenTokensAreUsedUpNothingIsDone) {
  const Actor alice = actor(), bob = actor();
  in([](Tables& tables) { tables.counters().reserved = 1; });
  const Claim held = wish(alice), next = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(next));
  withdraw(held);
  EXPECT_EQ(fault_, Transaction::out_of_tokens);
  EXPECT_EQ(look(held).place, Standing::Place::held);
  in([](Tables& tables) { tables.counters().reserved = 100; });
  withdraw(held);
  EXPECT_EQ(fault_, 0);
  EXPECT_EQ(look(next).place, Standing::Place::held);
}

TEST_F(TablesTest, LongNamesAndStrangeBytesAreLocksOfTheirOwn) {
  const Actor alice = actor();
  const std::string long_name(4096, '/');
  for (const std::string& name :
       {long_name, long_name.substr(1), std::string("a\0b", 3), std::string("a"), std::string("~a")}) {
    EXPECT_TRUE(granted(wish(alice, name))) << name.size();
  }
  EXPECT_EQ(inspect(long_name).name, long_name);
  const auto names = in([](Tables& tables) { return tables.list("///"); });
  EXPECT_EQ(names.size(), 2u);
}

TEST_F(TablesTest, ALabelCanBeChanged) {
  const Actor alice = actor(), bob = actor();
  Claim held = wish(alice), next = wish(bob);
  ASSERT_TRUE(granted(held) && waiting(next));
  held.label = "first";
  next.label = "second";
  in([&](Tables& tables) {
    tables.relabel(held);
    tables.relabel(next);
  });
  EXPECT_EQ(inspect().holders.at(0).owner.label, "first");
  EXPECT_EQ(inspect().waiters.at(0).owner.label, "second");
}

// Scenario: ten thousand wait. Each request must cost about the same as with ten.
TEST_F(TablesTest, AThousandWaitersAreServedInOrder) {
  const Actor alice = actor(), bob = actor();
  in([](Tables& tables) { tables.counters().reserved = 100'000; });
  std::vector<Claim> claims{wish(alice)};
  ASSERT_TRUE(granted(claims[0]));
  for (int i = 0; i < 1000; ++i) {
    claims.push_back(wish(bob));
    const auto state = waiting(claims.back());
    ASSERT_TRUE(state);
    EXPECT_EQ(state->ahead, static_cast<std::uint64_t>(i + 1));
  }
  for (std::size_t i = 0; i + 1 < claims.size(); ++i) {
    withdraw(claims[i]);
    ASSERT_EQ(look(claims[i + 1]).place, Standing::Place::held) << i;
  }
}

}  // namespace
}  // namespace pawl::store::file
