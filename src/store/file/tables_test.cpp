#include "store/file/tables.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

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
    EXPECT_TRUE(in([&](Tables& tables) { return tables.open_session(actor.session, record); }));
    return actor;
  }

  static LockKey key(const std::string& name, Kind kind) { return {kind, LockName::make(name).value()}; }
  Claim wish(const Actor& actor, const std::string& name = "job", Kind kind = Kind::mutex) {
    return {.id = {++claims_, 1}, .session = actor.session, .key = key(name, kind), .lease = 30s};
  }
  Claim write_wish(const Actor& actor) { return wish(actor, "job", Kind::rw); }
  Claim read_wish(const Actor& actor) {
    Claim claim = wish(actor, "job", Kind::rw);
    claim.mode = Mode::shared;
    return claim;
  }
  Claim permits_wish(const Actor& actor, std::uint32_t wanted, std::uint32_t of) {
    Claim claim = wish(actor, "job", Kind::permits);
    claim.permits = {wanted, of};
    return claim;
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
  bool holds(const Claim& claim) { return look(claim).place == Standing::Place::held; }
  Result<void> downgrade(const Claim& claim) {
    return in([&](Tables& tables) { return tables.downgrade(claim); });
  }
  LockView inspect(const std::string& name = "job", Kind kind = Kind::mutex) {
    return in([&](Tables& tables) { return tables.inspect(key(name, kind), {}); }).views.at(0);
  }
  /// Whom that claim should watch.
  std::set<ProcessKey> ahead_of(const Claim& claim) {
    return in([&](Tables& tables) {
      [[maybe_unused]] auto state = tables.claim(claim);
      return tables.just_ahead();
    });
  }
  using Named = std::vector<ClaimId>;
  /// Whom a renewal names.
  Named changed(const Actor& actor) {
    return in([&](Tables& tables) { return tables.renew(actor.session); }).value().changed.value();
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
    for (const char table : std::string("delmnqsuy")) {
      const Key prefix(table);
      for (auto entry = transaction.first(prefix); entry;
           entry = transaction.after(Key(entry->key.front()).text(entry->key.substr(1)), prefix.view())) {
        ++count;
      }
    }
    return count;
  }

  Fd file(const std::string& name) const {
    return Fd(::open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  const test::TemporaryFolder folder_;
  Database database_ = Database::open(file("locks"), folder_ / "locks").value();
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
}

TEST_F(TablesTest, WhatCanNeverBeIsRefusedAndLeavesNothing) {
  const Actor alice = actor();
  const std::size_t before = records();
  Claim shared = wish(alice);
  shared.mode = Mode::shared;
  EXPECT_EQ(claim(shared).code(), Errc::invalid_argument) << "only rw is shared";
  EXPECT_EQ(claim(permits_wish(alice, 4, 3)).code(), Errc::invalid_argument);
  EXPECT_EQ(claim(permits_wish(alice, 0, 3)).code(), Errc::invalid_argument);
  EXPECT_EQ(records(), before);
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

TEST_F(TablesTest, ARenewalNamesTheClaimsThatWereToldSomethingUntilTheyAsk) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice), other = wish(alice, "other"), next = wish(bob);
  ASSERT_TRUE(granted(held) && granted(other) && waiting(next));
  EXPECT_EQ(changed(alice), Named{held.id}) << "contended";
  EXPECT_EQ(changed(alice), Named{held.id});
  EXPECT_EQ(look(held).contended, true);
  EXPECT_EQ(changed(alice), Named{});
  EXPECT_EQ(changed(bob), Named{});
  EXPECT_TRUE(in([&](Tables& tables) { return tables.take_away(held.key, held.id); }));
  EXPECT_EQ(changed(alice), Named{held.id}) << "taken away";
  EXPECT_EQ(claim(held).code(), Errc::not_owner);
  EXPECT_EQ(changed(alice), Named{});
  EXPECT_EQ(changed(bob), Named{next.id}) << "granted";
  EXPECT_EQ(withdraw(next), Withdrawn::done);
  EXPECT_EQ(changed(bob), Named{});
}

TEST_F(TablesTest, ManyClaimsAreNotNamedButCounted) {
  const Actor alice = actor(), bob = actor();
  std::vector<Claim> all;
  for (std::size_t i = 0; i <= most_named; ++i) all.push_back(wish(alice, "job " + std::to_string(i)));
  in([&](Tables& tables) { tables.counters().reserved = 10000; });
  for (const Claim& one : all) ASSERT_TRUE(granted(one) && waiting(wish(bob, one.key.name.bytes())));
  const Renewal renewal = in([&](Tables& tables) { return tables.renew(alice.session); }).value();
  EXPECT_FALSE(renewal.changed);
  EXPECT_EQ(renewal.changes, 1u);
  look(all.front());
  EXPECT_EQ(changed(alice).size(), most_named);
}

TEST_F(TablesTest, TheEndOfASessionTakesItsNamesAlong) {
  const Actor alice = actor(), bob = actor();
  const Claim held = wish(alice);
  ASSERT_TRUE(granted(held) && waiting(wish(bob)));
  in([&](Tables& tables) { tables.close_session(alice.session); });
  const SessionRecord again{.lease = 30s, .process = alice.process};
  ASSERT_TRUE(in([&](Tables& tables) { return tables.open_session(alice.session, again); }));
  EXPECT_EQ(changed(alice), Named{});
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
  EXPECT_EQ(ahead_of(second), std::set{alice.process});
  EXPECT_EQ(ahead_of(third), std::set{bob.process});
  EXPECT_EQ(ahead_of(held), std::set<ProcessKey>{});
  withdraw(second);
  EXPECT_EQ(told(third), std::vector<What>{What::look_again}) << "the one it watched has left";
  EXPECT_EQ(ahead_of(third), std::set{alice.process});
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
  const auto names = in([](Tables& tables) { return tables.list("///", {}); }).views;
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

// readers and writers

TEST_F(TablesTest, ReadersShareEachWithATokenOfItsOwn) {
  const Actor alice = actor(), bob = actor();
  const Claim first = read_wish(alice), second = read_wish(bob);
  EXPECT_EQ(granted(first)->token, Token(epoch, 1));
  EXPECT_EQ(granted(second)->token, Token(epoch, 2));
  EXPECT_EQ(granted(first)->token, Token(epoch, 1)) << "asked again";
  EXPECT_FALSE(look(first).contended || look(second).contended);
  EXPECT_EQ(inspect("job", Kind::rw).holders.size(), 2u);
  const auto check = [&](Token token) { return in([&](Tables& tables) { return tables.check(first.key, token); }); };
  EXPECT_TRUE(check(Token(epoch, 1)) && check(Token(epoch, 2)));
  EXPECT_FALSE(check(Token(epoch, 3)));
  EXPECT_TRUE(letters_.empty());
}

TEST_F(TablesTest, NothingIsLeftOfReadersThatAreOver) {
  const Actor alice = actor(), bob = actor();
  const std::size_t before = records();
  const Claim first = read_wish(alice), second = read_wish(bob), writes = write_wish(bob);
  ASSERT_TRUE(granted(first) && granted(second) && waiting(writes));
  EXPECT_EQ(withdraw(first), Withdrawn::done);
  EXPECT_EQ(withdraw(first), Withdrawn::not_there);
  EXPECT_EQ(withdraw(second), Withdrawn::done);
  EXPECT_TRUE(holds(writes));
  ASSERT_TRUE(downgrade(writes));
  EXPECT_EQ(withdraw(writes), Withdrawn::done);
  EXPECT_EQ(records(), before);
}

TEST_F(TablesTest, AWriterIsAloneAndComesInWhenTheLastReaderHasLeft) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = read_wish(alice), second = read_wish(bob), writes = write_wish(carol);
  ASSERT_TRUE(granted(first) && granted(second));
  const auto state = waiting(writes);
  ASSERT_TRUE(state && state->holder);
  EXPECT_EQ(state->ahead, 2u);
  EXPECT_EQ(state->holder->pid, 1);
  EXPECT_EQ(told(first), std::vector<What>{What::contended}) << "both hear of it";
  EXPECT_EQ(told(second), std::vector<What>{What::contended});
  EXPECT_TRUE(look(first).contended && look(second).contended);
  withdraw(second);
  EXPECT_TRUE(told(writes).empty());
  withdraw(first);
  EXPECT_EQ(told(writes), std::vector<What>{What::granted});
  EXPECT_EQ(granted(writes)->token, Token(epoch, 3));
  Claim attempt = read_wish(alice);
  attempt.may_queue = false;
  EXPECT_TRUE(waiting(attempt));
}

TEST_F(TablesTest, AReaderDoesNotPassAWriterWhoWaits) {
  const Actor alice = actor(), bob = actor(), carol = actor(), dave = actor();
  const Claim first = read_wish(alice), writes = write_wish(bob), third = read_wish(carol), fourth = read_wish(dave);
  ASSERT_TRUE(granted(first) && waiting(writes) && waiting(third) && waiting(fourth));
  Claim attempt = read_wish(dave);
  attempt.may_queue = false;
  EXPECT_TRUE(waiting(attempt)) << "nor does a try";
  withdraw(first);
  EXPECT_TRUE(holds(writes));
  EXPECT_FALSE(holds(third) || holds(fourth));
  letters_.clear();
  withdraw(writes);
  EXPECT_TRUE(holds(third) && holds(fourth)) << "those behind it come in together";
  ASSERT_EQ(letters_.size(), 2u);
  EXPECT_EQ(letters_[0].to, third.id);
  EXPECT_TRUE(letters_[0].notice.grant.contended) << "dave was still waiting";
  EXPECT_EQ(letters_[1].to, fourth.id);
  EXPECT_FALSE(letters_[1].notice.grant.contended);
  EXPECT_GT(letters_[1].notice.grant.token, letters_[0].notice.grant.token);
}

TEST_F(TablesTest, ReadersUpToTheNextWriterComeInTogether) {
  const Actor alice = actor(), bob = actor();
  const Claim writes = write_wish(alice), first = read_wish(bob), second = read_wish(bob);
  const Claim next_writer = write_wish(bob), last = read_wish(bob);
  ASSERT_TRUE(granted(writes) && waiting(first) && waiting(second) && waiting(next_writer) && waiting(last));
  withdraw(writes);
  EXPECT_TRUE(holds(first) && holds(second));
  EXPECT_FALSE(holds(next_writer) || holds(last));
  withdraw(first);
  withdraw(second);
  EXPECT_TRUE(holds(next_writer));
  EXPECT_FALSE(holds(last));
}

TEST_F(TablesTest, AWriterWhoGivesUpLetsTheReadersBehindItIn) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = read_wish(alice), writes = write_wish(bob), third = read_wish(carol);
  ASSERT_TRUE(granted(first) && waiting(writes) && waiting(third));
  withdraw(writes);
  EXPECT_TRUE(holds(first) && holds(third));
  EXPECT_EQ(told(third).back(), What::granted);
}

TEST_F(TablesTest, ADowngradeLetsReadersInAndKeepsTheToken) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim writes = write_wish(alice), reads = read_wish(bob), writes_next = write_wish(carol);
  const Token token = granted(writes)->token;
  ASSERT_TRUE(waiting(reads) && waiting(writes_next));
  EXPECT_TRUE(downgrade(writes));
  EXPECT_EQ(look(writes).token, token);
  EXPECT_TRUE(holds(writes) && holds(reads));
  EXPECT_FALSE(holds(writes_next));
  EXPECT_EQ(told(reads).back(), What::granted);
  const std::size_t before = records();
  EXPECT_TRUE(downgrade(writes)) << "twice changes nothing";
  EXPECT_EQ(granted(writes)->token, token) << "nor does a late claim, which says exclusive";
  EXPECT_EQ(records(), before);
  const LockView view = inspect("job", Kind::rw);
  ASSERT_EQ(view.holders.size(), 2u);
  EXPECT_EQ(view.holders[0].mode, Mode::shared);
  EXPECT_EQ(view.holders[1].mode, Mode::shared);
  withdraw(reads);
  EXPECT_FALSE(holds(writes_next));
  withdraw(writes);
  EXPECT_TRUE(holds(writes_next));
}

TEST_F(TablesTest, ADowngradeAfterAWaitIsTheSame) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = write_wish(alice), second = write_wish(bob), reads = read_wish(carol);
  ASSERT_TRUE(granted(first) && waiting(second) && waiting(reads));
  withdraw(first);
  const Token token = granted(second)->token;
  EXPECT_TRUE(downgrade(second));
  EXPECT_EQ(look(second).token, token);
  EXPECT_TRUE(holds(second) && holds(reads));
  EXPECT_EQ(withdraw(second), Withdrawn::done);
  EXPECT_TRUE(holds(reads));
}

TEST_F(TablesTest, OnlyAHolderOfARwLockIsDowngraded) {
  const Actor alice = actor(), bob = actor();
  const Claim mutex = wish(alice), held = write_wish(alice), next = write_wish(bob);
  ASSERT_TRUE(granted(mutex) && granted(held) && waiting(next));
  EXPECT_EQ(downgrade(mutex).code(), Errc::not_owner);
  EXPECT_EQ(downgrade(next).code(), Errc::not_owner) << "it waits";
  EXPECT_EQ(downgrade(write_wish(alice)).code(), Errc::not_owner) << "nobody knows it";
  Claim forged = held;
  forged.session = bob.session;
  EXPECT_EQ(downgrade(forged).code(), Errc::not_owner);
  EXPECT_EQ(inspect("job", Kind::rw).holders.at(0).mode, Mode::exclusive);
}

TEST_F(TablesTest, OneReaderIsAskedOrTakenAwayOrLabelledAndTheOthersStay) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = read_wish(alice), writes = write_wish(carol);
  Claim second = read_wish(bob);
  ASSERT_TRUE(granted(first) && granted(second) && waiting(writes));
  EXPECT_TRUE(in([&](Tables& tables) { return tables.ask_to_release(second.key, second.id); }));
  EXPECT_TRUE(look(second).release_requested);
  EXPECT_FALSE(look(first).release_requested);
  second.label = "backup";
  in([&](Tables& tables) { tables.relabel(second); });
  EXPECT_EQ(inspect("job", Kind::rw).holders.at(0).owner.label, "somebody");
  EXPECT_EQ(inspect("job", Kind::rw).holders.at(1).owner.label, "backup");
  EXPECT_TRUE(in([&](Tables& tables) { return tables.take_away(second.key, second.id); }));
  EXPECT_EQ(told(second).back(), What::gone);
  EXPECT_EQ(claim(second).code(), Errc::not_owner);
  EXPECT_TRUE(holds(first));
  EXPECT_FALSE(holds(writes));
  EXPECT_TRUE(in([&](Tables& tables) { return tables.take_away(first.key, first.id); }));
  EXPECT_TRUE(holds(writes));
}

// readers and writers that fail

TEST_F(TablesTest, TheGhostOfAReaderKeepsWritersOutAndLetsReadersIn) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  Claim dead = read_wish(alice);
  dead.lock_delay = 5s;
  const Claim writes = write_wish(bob), reads = read_wish(carol);
  ASSERT_TRUE(granted(dead));
  withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(granted(reads)) << "readers share, with ghosts too";
  withdraw(reads);
  EXPECT_TRUE(waiting(writes));
  now_ += 5s - 1ns;
  EXPECT_TRUE(waiting(writes));
  now_ += 1ns;
  EXPECT_TRUE(granted(writes));
}

TEST_F(TablesTest, TheGhostOfAWriterKeepsEverybodyOut) {
  const Actor alice = actor(), bob = actor();
  Claim dead = write_wish(alice);
  dead.lock_delay = 5s;
  const Claim reads = read_wish(bob), writes = write_wish(bob);
  ASSERT_TRUE(granted(dead));
  withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(waiting(reads) && waiting(writes));
  now_ += 5s;
  EXPECT_TRUE(granted(reads));
  EXPECT_TRUE(waiting(writes));
}

TEST_F(TablesTest, TheGhostOfADowngradedWriterIsAReaders) {
  const Actor alice = actor(), bob = actor();
  Claim dead = write_wish(alice);
  dead.lock_delay = 5s;
  ASSERT_TRUE(granted(dead) && downgrade(dead));
  withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(granted(read_wish(bob)));
  EXPECT_EQ(inspect("job", Kind::rw).shut_for, 5s);
  EXPECT_TRUE(waiting(write_wish(bob)));
}

TEST_F(TablesTest, SeveralReadersWhoseLeasesEndAtOnceLeaveTogether) {
  const Actor alice = actor(3s), bob = actor(3s), carol = actor(60s), dave = actor(60s);
  Claim first = read_wish(alice), second = read_wish(bob);
  first.lock_delay = 5s;
  second.lock_delay = 9s;
  const Claim third = read_wish(carol), writes = write_wish(dave);
  ASSERT_TRUE(granted(first) && granted(second) && granted(third) && waiting(writes));
  now_ += 4s;
  EXPECT_TRUE(holds(third)) << "who lives stays";
  EXPECT_EQ(claim(first).code(), Errc::lost);
  EXPECT_EQ(inspect("job", Kind::rw).shut_for, 8s) << "for the last of the ghosts";
  withdraw(third);
  EXPECT_EQ(waiting(writes)->look_again_in, 4s + 1ms) << "when the first ghost goes";
  now_ += 4s;
  EXPECT_TRUE(waiting(writes)) << "the second ghost is still there";
  now_ += 4s - 1ns;
  EXPECT_TRUE(waiting(writes));
  now_ += 1ns;
  EXPECT_TRUE(granted(writes));
}

TEST_F(TablesTest, AWriterWatchesEveryReaderAheadOfIt) {
  const Actor alice = actor(), bob = actor(), carol = actor(), dave = actor();
  const Claim first = read_wish(alice), second = read_wish(bob), writes = write_wish(carol), last = read_wish(dave);
  ASSERT_TRUE(granted(first) && granted(second));
  EXPECT_EQ(ahead_of(writes), (std::set{alice.process, bob.process}));
  EXPECT_EQ(ahead_of(last), std::set{carol.process});
  withdraw(first);
  EXPECT_EQ(ahead_of(writes), std::set{bob.process});
  EXPECT_EQ(ahead_of(second), std::set<ProcessKey>{});
}

TEST_F(TablesTest, AWriterWhoComesToWaitForSeveralReadersLearnsWhomToWatch) {
  const Actor alice = actor(), bob = actor(), carol = actor(), dave = actor();
  const Claim first = write_wish(alice), one = read_wish(bob), other = read_wish(carol), writes = write_wish(dave);
  ASSERT_TRUE(granted(first) && waiting(one) && waiting(other) && waiting(writes));
  EXPECT_EQ(ahead_of(writes), std::set{carol.process});
  withdraw(first);
  EXPECT_EQ(told(writes), std::vector<What>{What::look_again});
  EXPECT_EQ(ahead_of(writes), (std::set{bob.process, carol.process}));
}

TEST_F(TablesTest, ADeadReaderIsBuriedByTheWriterWhoClaims) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = read_wish(alice), second = read_wish(bob), writes = write_wish(carol);
  ASSERT_TRUE(granted(first) && granted(second));
  roll_.dead.insert(alice.process);
  EXPECT_TRUE(waiting(writes));
  EXPECT_EQ(claim(first).code(), Errc::lost) << "buried, though the other one lives";
  EXPECT_TRUE(holds(second));
  roll_.dead.insert(bob.process);
  EXPECT_TRUE(granted(writes));
}

TEST_F(TablesTest, AllReadersMayDieAtOnce) {
  const Actor alice = actor(), bob = actor(), carol = actor(), dave = actor();
  Claim second = read_wish(bob);
  second.lock_delay = 5s;
  const Claim first = read_wish(alice), third = read_wish(carol), writes = write_wish(dave);
  ASSERT_TRUE(granted(first) && granted(second) && granted(third) && waiting(writes));
  roll_.dead = {alice.process, bob.process, carol.process};
  EXPECT_EQ(waiting(writes)->look_again_in, 5s + 1ms) << "only bob's ghost is left";
  EXPECT_EQ(ahead_of(writes), std::set<ProcessKey>{});
  for (const Claim& claim : {first, second, third}) EXPECT_EQ(this->claim(claim).code(), Errc::lost);
  now_ += 5s;
  EXPECT_TRUE(granted(writes));
}

TEST_F(TablesTest, ATryFindsAllReadersDead) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  ASSERT_TRUE(granted(read_wish(alice)) && granted(read_wish(bob)));
  roll_.dead = {alice.process, bob.process};
  Claim attempt = write_wish(carol);
  attempt.may_queue = false;
  EXPECT_TRUE(granted(attempt));
}

TEST_F(TablesTest, ADeadReaderInTheQueueIsPassedOverAndTheOthersComeIn) {
  const Actor alice = actor(), bob = actor(), carol = actor(), dave = actor();
  const Claim writes = write_wish(alice), first = read_wish(bob), dead = read_wish(carol), last = read_wish(dave);
  ASSERT_TRUE(granted(writes) && waiting(first) && waiting(dead) && waiting(last));
  roll_.dead.insert(carol.process);
  letters_.clear();
  withdraw(writes);
  EXPECT_TRUE(holds(first) && holds(last));
  EXPECT_EQ(claim(dead).code(), Errc::lost);
  EXPECT_TRUE(told(dead).empty());
  EXPECT_EQ(inspect("job", Kind::rw).holders.size(), 2u);
}

TEST_F(TablesTest, ADeadWriterInTheQueueIsBuriedByTheReaderBehindIt) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = read_wish(alice), dead = write_wish(bob), reads = read_wish(carol);
  ASSERT_TRUE(granted(first) && waiting(dead));
  roll_.dead.insert(bob.process);
  EXPECT_TRUE(granted(reads));
  EXPECT_FALSE(look(first).contended);
}

TEST_F(TablesTest, ADeadWriterInTheQueueDoesNotKeepOutATry) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  ASSERT_TRUE(granted(read_wish(alice)) && waiting(write_wish(bob)));
  roll_.dead.insert(bob.process);
  Claim attempt = read_wish(carol);
  attempt.may_queue = false;
  EXPECT_TRUE(granted(attempt));
}

TEST_F(TablesTest, CheckBuriesADeadReaderAndKnowsTheOthers) {
  const Actor alice = actor(), bob = actor();
  const Claim first = read_wish(alice), second = read_wish(bob);
  const Token dead = granted(first)->token, living = granted(second)->token;
  roll_.dead.insert(alice.process);
  const auto check = [&](Token token) { return in([&](Tables& tables) { return tables.check(first.key, token); }); };
  EXPECT_FALSE(check(dead));
  EXPECT_TRUE(check(living));
}

TEST_F(TablesTest, WhenTokensAreUsedUpADowngradeIsUndoneToo) {
  const Actor alice = actor(), bob = actor();
  in([](Tables& tables) { tables.counters().reserved = 1; });
  const Claim writes = write_wish(alice), reads = read_wish(bob);
  ASSERT_TRUE(granted(writes) && waiting(reads));
  [[maybe_unused]] auto undone = downgrade(writes);
  EXPECT_EQ(fault_, Transaction::out_of_tokens);
  EXPECT_EQ(inspect("job", Kind::rw).holders.at(0).mode, Mode::exclusive);
  in([](Tables& tables) { tables.counters().reserved = 100; });
  EXPECT_TRUE(downgrade(writes));
  EXPECT_EQ(fault_, 0);
  EXPECT_TRUE(holds(writes) && holds(reads));
}

// permits

TEST_F(TablesTest, PermitsAreHandedOutByTheirNumbers) {
  const Actor alice = actor(), bob = actor();
  const Claim one = permits_wish(alice, 1, 3), two = permits_wish(bob, 2, 3);
  EXPECT_EQ(granted(one)->slots, Slots{0});
  EXPECT_EQ(granted(two)->slots, (Slots{1, 2}));
  EXPECT_EQ(granted(two)->slots, (Slots{1, 2})) << "asked again";
  EXPECT_EQ(look(two).slots, (Slots{1, 2}));
  EXPECT_GT(look(two).token, look(one).token);
  const LockView view = inspect("job", Kind::permits);
  EXPECT_EQ(view.permits, 3u);
  EXPECT_EQ(view.holders.at(1).slots, (Slots{1, 2}));
  EXPECT_EQ(view.holders.at(1).permits, 2u);
}

TEST_F(TablesTest, WhoeverWantsPermitsWaitsUntilThereAreEnough) {
  const Actor alice = actor(), bob = actor();
  const std::size_t before = records();
  const Claim one = permits_wish(alice, 1, 3), other = permits_wish(alice, 2, 3), all = permits_wish(bob, 3, 3);
  ASSERT_TRUE(granted(one) && granted(other));
  EXPECT_EQ(waiting(all)->ahead, 2u);
  withdraw(other);
  EXPECT_FALSE(holds(all)) << "two are not three";
  EXPECT_TRUE(told(all).empty());
  withdraw(one);
  EXPECT_EQ(told(all), std::vector<What>{What::look_again}) << "a letter has no room for slots";
  EXPECT_EQ(granted(all)->slots, (Slots{0, 1, 2}));
  withdraw(all);
  EXPECT_EQ(records(), before);
}

TEST_F(TablesTest, WhoeverWantsFewerPermitsDoesNotPassTheHead) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim held = permits_wish(alice, 2, 3), two = permits_wish(bob, 2, 3), one = permits_wish(carol, 1, 3);
  ASSERT_TRUE(granted(held) && waiting(two));
  EXPECT_TRUE(waiting(one)) << "though one is free";
  withdraw(held);
  EXPECT_EQ(granted(two)->slots, (Slots{0, 1}));
  EXPECT_EQ(granted(one)->slots, Slots{2}) << "both fit now";
}

TEST_F(TablesTest, PermitsThatAreGivenBackAreGivenOutAgainWithLargerTokens) {
  const Actor alice = actor(), bob = actor();
  const Claim first = permits_wish(alice, 1, 2), second = permits_wish(alice, 1, 2);
  const Token token = granted(first)->token;
  ASSERT_TRUE(granted(second));
  withdraw(first);
  const auto again = granted(permits_wish(bob, 1, 2));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->slots, Slots{0});
  EXPECT_GT(again->token, token);
}

TEST_F(TablesTest, TheNumberOfPermitsIsAgreedOnUntilNobodyUsesThem) {
  const Actor alice = actor(), bob = actor();
  const Claim held = permits_wish(alice, 1, 3), more = permits_wish(bob, 1, 4);
  ASSERT_TRUE(granted(held));
  EXPECT_EQ(claim(more).code(), Errc::invalid_argument);
  EXPECT_EQ(look(more).place, Standing::Place::gone);
  withdraw(held);
  EXPECT_TRUE(granted(more));
  EXPECT_EQ(inspect("job", Kind::permits).permits, 4u);
}

TEST_F(TablesTest, TheDeadDoNotAgreeOnANumberOfPermits) {
  const Actor alice = actor(), bob = actor();
  ASSERT_TRUE(granted(permits_wish(alice, 1, 3)));
  roll_.dead.insert(alice.process);
  EXPECT_TRUE(granted(permits_wish(bob, 1, 4))) << "nobody who lives uses it";
}

TEST_F(TablesTest, AGhostKeepsItsPermitsAndTheirNumber) {
  const Actor alice = actor(), bob = actor();
  Claim dead = permits_wish(alice, 2, 3);
  dead.lock_delay = 5s;
  ASSERT_TRUE(granted(dead));
  withdraw(dead, {.ending = Ending::failed});
  EXPECT_EQ(claim(permits_wish(bob, 1, 4)).code(), Errc::invalid_argument);
  const Claim one = permits_wish(bob, 1, 3), two = permits_wish(bob, 2, 3);
  EXPECT_EQ(granted(one)->slots, Slots{2}) << "what the ghost has not";
  EXPECT_EQ(waiting(two)->look_again_in, 5s + 1ms);
  EXPECT_EQ(inspect("job", Kind::permits).shut_for, 5s);
  now_ += 5s;
  EXPECT_EQ(granted(two)->slots, (Slots{0, 1}));
}

TEST_F(TablesTest, HoldersOfPermitsThatDieAtOnceGiveThemAllBack) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim first = permits_wish(alice, 1, 3);
  Claim second = permits_wish(bob, 2, 3);
  second.lock_delay = 5s;
  const Claim one = permits_wish(carol, 1, 3), all = permits_wish(carol, 3, 3);
  ASSERT_TRUE(granted(first) && granted(second) && waiting(one) && waiting(all));
  EXPECT_EQ(ahead_of(one), (std::set{alice.process, bob.process}));
  roll_.dead = {alice.process, bob.process};
  EXPECT_EQ(granted(one)->slots, Slots{0}) << "the other two are a ghost's";
  withdraw(one);
  EXPECT_TRUE(waiting(all));
  now_ += 5s;
  EXPECT_EQ(granted(all)->slots, (Slots{0, 1, 2}));
}

TEST_F(TablesTest, ADeadHolderOfPermitsIsBuriedByWhoeverFindsTooFewLeft) {
  const Actor alice = actor(), bob = actor(), carol = actor();
  const Claim dead = permits_wish(alice, 1, 3);
  ASSERT_TRUE(granted(dead) && granted(permits_wish(bob, 1, 3)));
  roll_.dead.insert(alice.process);
  Claim attempt = permits_wish(carol, 2, 3);
  attempt.may_queue = false;
  EXPECT_EQ(granted(attempt)->slots, (Slots{0, 2}));
  EXPECT_EQ(claim(dead).code(), Errc::lost);
}

// elections

TEST_F(TablesTest, ACandidatesValueIsShownWhetherItLeadsOrWaits) {
  const Actor alice = actor(), bob = actor();
  Claim leads = wish(alice, "job", Kind::election), stands_by = wish(bob, "job", Kind::election);
  leads.value = "alice:80";
  stands_by.value = "bob:80";
  ASSERT_TRUE(granted(leads) && waiting(stands_by));
  EXPECT_EQ(inspect("job", Kind::election).holders.at(0).value, "alice:80");
  EXPECT_EQ(inspect("job", Kind::election).waiters.at(0).value, "bob:80");
  withdraw(leads);
  EXPECT_EQ(inspect("job", Kind::election).holders.at(0).value, "bob:80");
}

TEST_F(TablesTest, AnElectionIsForgottenAMinuteAfterItsLastLeader) {
  const Actor alice = actor(600s);
  const std::size_t before = records();
  const Claim first = wish(alice, "job", Kind::election), second = wish(alice, "job", Kind::election);
  ASSERT_TRUE(granted(first) && waiting(second));
  withdraw(first);
  withdraw(second);
  const auto leaders = [&] {
    return in([&](Tables& tables) { return tables.succession(first.key, Token()); }).reigns.size();
  };
  now_ += 60s - 1ns;
  EXPECT_EQ(leaders(), 2u);
  now_ += 1ns;
  EXPECT_EQ(leaders(), 0u);
  EXPECT_EQ(records(), before);
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

/// More than one transaction does.
class BatchTest : public TablesTest {
 protected:
  static constexpr std::size_t many = 2 * Tables::batch + 200;

  void SetUp() override {
    TablesTest::SetUp();
    in([](Tables& tables) { tables.counters().reserved = 100'000; });
  }
  /// All in one transaction.
  template <class Make>
  std::vector<Claim> claims(const Make& make) {
    std::vector<Claim> all;
    for (std::size_t i = 0; i < many; ++i) all.push_back(make(i));
    in([&](Tables& tables) {
      for (const Claim& one : all) EXPECT_TRUE(tables.claim(one));
    });
    return all;
  }
  /// Nothing but the sweep. True: there is more.
  bool sweep() {
    const bool more = in([](Tables& tables) { return tables.more(); });
    EXPECT_EQ(fault_, 0);
    return more;
  }
  std::size_t held(const std::vector<Claim>& claims) {
    std::size_t count = 0;
    for (const Claim& claim : claims) count += holds(claim);
    return count;
  }
  static std::string number(std::size_t i) { return "job " + std::to_string(i); }
};

TEST_F(BatchTest, ASessionEndsAtOnceAndItsClaimsLeaveInBatches) {
  const Actor alice = actor(3s);
  const std::vector<Claim> held = claims([&](std::size_t i) { return wish(alice, number(i)); });
  const std::size_t before = records();
  now_ += 3s;
  EXPECT_TRUE(sweep());
  EXPECT_GT(records(), before - 2 * Tables::batch - 10) << "two records of each claim, and those of the session";
  EXPECT_EQ(claim(held.back()).code(), Errc::lost);
  EXPECT_FALSE(holds(held.back()));
  EXPECT_EQ(withdraw(held.back()), Withdrawn::not_there);
  while (sweep()) {
  }
  EXPECT_EQ(records(), 0u);
}

TEST_F(BatchTest, AClaimOfAnEndedSessionIsNotInTheWayOfAnybody) {
  const Actor alice = actor(3s), bob = actor(60s);
  const std::vector<Claim> held = claims([&](std::size_t i) { return wish(alice, number(i)); });
  const Claim waits = wish(bob, number(many - 1));
  ASSERT_TRUE(waiting(waits));
  const Token token = look(held[many - 2]).token;
  now_ += 3s;
  const LockKey other = held[many - 2].key;
  in([&](Tables& tables) {
    // All in the one transaction that finds her lease over, with one batch swept.
    EXPECT_TRUE(tables.more());
    EXPECT_FALSE(tables.check(other, token));
    EXPECT_TRUE(tables.inspect(other, {}).views.at(0).holders.empty());
  });
  while (sweep()) {
  }
  EXPECT_EQ(told(waits), std::vector<What>{What::granted});
}

TEST_F(BatchTest, AManyTimesLargerDeathIsBuriedInBatchesAndATryGetsItsLockAtOnce) {
  const Actor alice = actor(), bob = actor();
  const std::vector<Claim> held = claims([&](std::size_t i) { return wish(alice, number(i)); });
  roll_.dead.insert(alice.process);
  Claim attempt = wish(bob, number(many - 1));
  attempt.may_queue = false;
  EXPECT_TRUE(granted(attempt));
  EXPECT_GT(records(), 2 * Tables::batch) << "the rest comes later";
  while (sweep()) {
  }
  EXPECT_EQ(records(), 5u) << "bob's session and his claim";
}

TEST_F(BatchTest, ReadersAreLetInInBatches) {
  const Actor alice = actor(), bob = actor();
  const Claim writes = write_wish(alice);
  ASSERT_TRUE(granted(writes));
  const std::vector<Claim> readers = claims([&](std::size_t) { return read_wish(bob); });
  letters_.clear();
  withdraw(writes);
  EXPECT_LE(letters_.size(), Tables::batch + 1);
  EXPECT_GE(letters_.size(), Tables::batch - 1);
  while (sweep()) {
  }
  EXPECT_EQ(held(readers), many);
}

TEST_F(BatchTest, LocksAreReadPageByPage) {
  const Actor alice = actor(), bob = actor();
  ASSERT_TRUE(granted(write_wish(alice)));
  claims([&](std::size_t) { return read_wish(bob); });
  claims([&](std::size_t i) { return wish(bob, number(i)); });
  std::size_t locks = 0, waiters = 0, pages = 0;
  for (std::optional<Tables::Bookmark> next = Tables::Bookmark(); next; ++pages) {
    const auto page = in([&](Tables& tables) { return tables.list("job", *next); });
    std::size_t size = page.views.size();
    for (const LockView& view : page.views) waiters += view.waiters.size(), size += view.waiters.size();
    EXPECT_LE(size, Tables::batch + 1);
    locks += page.views.size() - (page.continues ? 1 : 0);
    next = page.next;
  }
  EXPECT_EQ(locks, 1 + many);
  EXPECT_EQ(waiters, many);
  EXPECT_GT(pages, 4u);
}

class CrowdedTest : public TablesTest {
 protected:
  void SetUp() override {
    database_ = Database::open(file("small"), folder_ / "small", std::size_t{4} << 20).value();
    TablesTest::SetUp();
  }
};

// Scenario: copy-on-write needs pages to delete anything. A database that is filled to its end could never be emptied.
TEST_F(CrowdedTest, ClaimsAreRefusedWhileThereIsRoomToGetRidOfTheOthers) {
  const Actor alice = actor(), bob = actor();
  std::vector<Claim> held;
  Errc refused = {};
  const auto fill = [&] {
    for (int i = 0; i < 900 && refused == Errc{}; ++i) {
      held.push_back(wish(alice, std::string(3000, 'x') + std::to_string(held.size())));
      refused = claim(held.back()).code();
      ASSERT_EQ(fault_, 0);
    }
  };
  fill();
  EXPECT_EQ(refused, Errc::overloaded);
  EXPECT_GT(held.size(), 100u);
  EXPECT_TRUE(granted(held.front())) << "what is known is answered";
  EXPECT_TRUE(in([&](Tables& tables) { return tables.renew(alice.session); }));
  EXPECT_EQ(withdraw(held.front()), Withdrawn::done);
  refused = {};
  fill();
  EXPECT_EQ(refused, Errc::overloaded);
  roll_.dead.insert(alice.process);
  EXPECT_EQ(claim(wish(bob)).code(), Errc::overloaded) << "but it has buried the dead";
  while (in([](Tables& tables) { return tables.more(); })) ASSERT_EQ(fault_, 0);
  EXPECT_TRUE(granted(wish(bob)));
  EXPECT_EQ(records(), 5u);
}

}  // namespace
}  // namespace pawl::store::file
