// Locks shared with clients that others wrote: Curator's mutex, read/write lock and semaphore, and kazoo's locks.

#include "tests/interop/counter.hpp"
#include "tests/interop/neighbour.hpp"
#include "tests/interop/zookeeper_peer.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::Counter;
using test::eventually;
using test::Neighbour;
using test::ZooKeeperPeer;
using test::ZooKeeperServer;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

struct Library {
  const char* name;
  const char* query;  ///< of our URL
  Neighbour& (*neighbour)();
  const char* mutex_node;  ///< what our nodes are called, so that it takes them for its own
  const char* write_node;
  const char* read_node;
};

template <class Kind>
Neighbour& the() {
  ZooKeeperServer::shared();  // outlives it
  static Kind neighbour;
  return neighbour;
}

const Library curator{"Curator", "", the<test::Curator>, "lock-[0-9]{10}", "__WRIT__[0-9]{10}", "__READ__[0-9]{10}"};
const Library kazoo{"Kazoo",
                    "&dialect=kazoo",
                    the<test::Kazoo>,
                    "[0-9a-f]{32}__lock__[0-9]{10}",
                    "[0-9a-f]{32}__lock__[0-9]{10}",
                    "[0-9a-f]{32}__rlock__[0-9]{10}"};

void PrintTo(const Library* library, std::ostream* out) { *out << library->name; }

enum class Outcome { granted, refused, none_yet };

constexpr milliseconds hang = 30s;

/// Somebody who wants the lock in one way ("mutex", "read", "write", or a number of permits): one of theirs, or one of
/// ours, with a session of its own.
class Actor {
 public:
  virtual ~Actor() = default;

  /// In the background.
  void ask() { begin({}); }
  void ask(milliseconds wait) { begin(wait); }
  virtual Outcome outcome(milliseconds within) = 0;
  virtual bool release() = 0;

  bool has_it(milliseconds within = hang) { return outcome(within) == Outcome::granted; }
  /// Long enough to be granted it, if anybody would do that.
  bool still_waits() { return outcome(200ms) == Outcome::none_yet; }
  bool tries() {
    ask(0ms);
    return has_it();
  }

 protected:
  /// Wait 0: tries once; unset: for ever.
  virtual void begin(std::optional<milliseconds> wait) = 0;
};

using Queue = std::vector<std::unique_ptr<Actor>>;

/// In groups of these sizes, in the order in which they came: nobody has it before the group before his has let go.
void expect_served(const Queue& queue, const std::vector<std::size_t>& groups) {
  std::size_t next = 0;
  for (const std::size_t together : groups) {
    const std::size_t end = next + together;
    for (std::size_t i = next; i < end; ++i) ASSERT_TRUE(queue[i]->has_it()) << i;
    for (std::size_t i = end; i < queue.size(); ++i) {
      ASSERT_EQ(queue[i]->outcome(0ms), Outcome::none_yet) << i << " overtakes " << end - 1;
    }
    for (; next < end; ++next) ASSERT_TRUE(queue[next]->release()) << next;
  }
  ASSERT_EQ(next, queue.size());
}

class Theirs final : public Actor {
 public:
  Theirs(ZooKeeperPeer& peer, std::string path, std::string kind)
      : peer_(peer), path_(std::move(path)), kind_(std::move(kind)) {
    static int count = 0;
    wish_ = "wish" + std::to_string(count++);
  }

  Outcome outcome(milliseconds within) override {
    const std::string answer = peer_.ask("wait " + wish_ + " " + std::to_string(within.count()));
    if (answer == "ok") return Outcome::granted;
    if (answer == "no news") return Outcome::none_yet;
    EXPECT_EQ(answer, "no");
    return Outcome::refused;
  }
  bool release() override { return peer_.ask("release " + wish_) == "ok"; }

  /// Revocable ones only.
  bool is_asked_to_let_go() { return peer_.ask("asked " + wish_ + " " + std::to_string(hang.count())) == "ok"; }
  /// Everybody who takes part, as they see it.
  std::vector<std::string> participants() { return peer_.nodes(wish_); }

 private:
  void begin(std::optional<milliseconds> wait) override {
    const std::string how_long = std::to_string(wait ? wait->count() : -1);
    EXPECT_EQ(peer_.ask("begin " + wish_ + " " + kind_ + " " + path_ + " " + how_long), "ok");
  }

  ZooKeeperPeer& peer_;
  const std::string path_;
  const std::string kind_;
  std::string wish_;
};

class Ours final : public Actor {
 public:
  Ours(const std::string& url, std::string path, std::string kind)
      : client_(url), path_(std::move(path)), kind_(std::move(kind)) {}
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  ~Ours() override { stop_.request_stop(); }

  Outcome outcome(milliseconds within) override {
    if (wish_.valid() && wish_.wait_for(within) != std::future_status::ready) return Outcome::none_yet;
    if (wish_.valid()) result_ = wish_.get();
    if (*result_) return Outcome::granted;
    EXPECT_THAT(result_->code(), testing::AnyOf(Errc::busy, Errc::timed_out)) << result_->error().message;
    return Outcome::refused;
  }
  bool release() override { return hold().release().has_value(); }

  Hold& hold() { return result_->value(); }
  Client& client() { return client_; }

 private:
  void begin(std::optional<milliseconds> wait) override {
    AcquireOptions options;
    options.wait = wait.value_or(2 * hang);
    wish_ = std::async(std::launch::async, [this, options] { return acquire(options); });
  }
  Result<Hold> acquire(AcquireOptions options) {
    if (kind_ == "mutex") return client_.mutex(path_).acquire(options, stop_.get_token());
    if (kind_ == "write") return client_.shared_mutex(path_).acquire(options, stop_.get_token());
    if (kind_ == "read") return client_.shared_mutex(path_).acquire_shared(options, stop_.get_token());
    return client_.semaphore(path_, static_cast<std::uint32_t>(std::stoul(kind_))).acquire(options, stop_.get_token());
  }

  Client client_;
  const std::string path_;
  const std::string kind_;
  std::stop_source stop_;
  std::optional<Result<Hold>> result_;
  std::future<Result<Hold>> wish_;  // last: its end is waited for first
};

enum class Side { theirs, ours };
constexpr Side other(Side side) { return side == Side::ours ? Side::theirs : Side::ours; }

/// We and a client of another library, and one folder between us that is named after the test.
class InteropTest : public testing::TestWithParam<const Library*> {
 protected:
  explicit InteropTest(const Library* library = GetParam()) : library_(*library) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::string(test->test_suite_name()) + "." + test->name();
    std::replace(path_.begin(), path_.end(), '/', '-');
    path_.insert(0, "/interop/");
  }

  void SetUp() override {
    ZooKeeperServer& server = ZooKeeperServer::shared();
    test::Peer* peer = library_.neighbour().peer(server.port());
    if (peer == nullptr) PAWL_SKIP_WITHOUT(library_.neighbour().not_tested(library_.name));
    peer_.emplace(*peer);
    url_ = server.url("/?scheme=sequential&names=raw" + std::string(library_.query));
  }

  // It may have locks and answers left that the next test would take for its own.
  void TearDown() override {
    if (HasFailure()) library_.neighbour().end();
  }

  Theirs theirs(const std::string& kind) { return {*peer_, path_, kind}; }
  Ours ours(const std::string& kind) { return {url_, path_, kind}; }
  std::unique_ptr<Actor> one_of(Side side, const std::string& kind) {
    if (side == Side::ours) return std::make_unique<Ours>(url_, path_, kind);
    return std::make_unique<Theirs>(*peer_, path_, kind);
  }

  std::vector<std::string> line(const std::string& folder = {}) { return peer_->children(path_ + folder); }
  /// Waits until so many stand in line, holders included; false when it hangs.
  bool line_is(std::size_t length, const std::string& folder = {}) {
    return eventually([&] { return line(folder).size() == length; });
  }

  /// One after the other: each is in line before the next one comes.
  using Arrivals = std::vector<std::pair<Side, const char*>>;
  void queue_up(Queue& queue, const Arrivals& arrivals) {
    for (const auto& [side, kind] : arrivals) {
      queue.push_back(one_of(side, kind));
      queue.back()->ask();
      ASSERT_TRUE(line_is(queue.size()));
    }
  }

  const Library& library_;
  std::string path_;
  std::string url_;
  std::optional<ZooKeeperPeer> peer_;
};

TEST_P(InteropTest, TheyHoldItAndWeAreBusy) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  EXPECT_FALSE(we.tries());
  we.ask(300ms);
  EXPECT_EQ(we.outcome(hang), Outcome::refused);
  EXPECT_TRUE(line_is(1)) << "who gives up leaves nothing behind";
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(we.tries());
}

TEST_P(InteropTest, WeHoldItAndTheyAreBusy) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(we.tries());
  EXPECT_FALSE(they.tries());
  they.ask(300ms);
  EXPECT_EQ(they.outcome(hang), Outcome::refused);
  EXPECT_TRUE(we.release());
  EXPECT_TRUE(they.tries());
  EXPECT_TRUE(they.release());
}

TEST_P(InteropTest, TheLockGoesBackAndForth) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  for (int i = 0; i < 20; ++i) {
    we.ask();
    ASSERT_TRUE(line_is(2));
    ASSERT_EQ(we.outcome(0ms), Outcome::none_yet);
    ASSERT_TRUE(they.release());
    ASSERT_TRUE(we.has_it());
    they.ask();
    ASSERT_TRUE(line_is(2));
    ASSERT_EQ(they.outcome(0ms), Outcome::none_yet);
    ASSERT_TRUE(we.release());
    ASSERT_TRUE(they.has_it());
  }
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(line_is(0));
}

TEST_P(InteropTest, NobodyIsInsideWhileAnotherIs) {
  constexpr int visits = 100;
  const Counter counter;
  const auto visit = [&] {
    Client client(url_);
    for (int i = 0; i < visits; ++i) {
      Hold hold = client.mutex(path_).acquire({.wait = hang}).value();
      counter.bump();
      if (!hold.release()) return false;
    }
    return true;
  };
  peer_->tell("visit mutex " + path_ + " " + counter.path() + " " + std::to_string(visits));
  ASSERT_TRUE(eventually([&] { return counter.read() > 0; })) << "they have begun";
  auto other = std::async(std::launch::async, visit);
  EXPECT_TRUE(visit());
  EXPECT_TRUE(other.get());
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(counter.read(), 3 * visits);
}

TEST_P(InteropTest, WhoComesFirstIsServedFirstWhicheverHisLibrary) {
  constexpr std::size_t length = 8;
  for (const Side first : {Side::theirs, Side::ours}) {
    Queue queue;
    for (std::size_t i = 0; i < length; ++i) {
      queue.push_back(one_of(i % 2 == 0 ? first : other(first), "mutex"));
      queue.back()->ask();
      ASSERT_TRUE(line_is(i + 1));
    }
    ASSERT_NO_FATAL_FAILURE(expect_served(queue, std::vector<std::size_t>(length, 1)));
    ASSERT_TRUE(line_is(0));
  }
}

TEST_P(InteropTest, OneWhoGivesUpInTheMiddleLeavesTheLineWhole) {
  for (const Side side : {Side::theirs, Side::ours}) {
    const auto first = one_of(other(side), "mutex");
    const auto second = one_of(side, "mutex");
    const auto third = one_of(other(side), "mutex");
    ASSERT_TRUE(first->tries());
    second->ask(8s);
    ASSERT_TRUE(line_is(2));
    third->ask();
    ASSERT_TRUE(line_is(3));
    EXPECT_EQ(second->outcome(hang), Outcome::refused);
    EXPECT_TRUE(line_is(2));
    EXPECT_TRUE(third->still_waits()) << "not for the one who left, but for the first";
    EXPECT_TRUE(first->release());
    EXPECT_TRUE(third->has_it());
    EXPECT_TRUE(third->release());
  }
}

TEST_P(InteropTest, WhatTheyHoldIsOursWhenTheirSessionDies) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(2));
  ASSERT_TRUE(we.still_waits());
  ASSERT_EQ(peer_->ask("kill"), "ok");
  EXPECT_TRUE(we.has_it());
}

TEST_P(InteropTest, WhatWeHoldIsTheirsWhenOurSessionEnds) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(we.tries());
  they.ask();
  ASSERT_TRUE(line_is(2));
  ASSERT_TRUE(they.still_waits());
  EXPECT_TRUE(we.client().close());
  EXPECT_EQ(we.hold().state(), HoldState::lost);
  EXPECT_TRUE(they.has_it());
  EXPECT_TRUE(they.release());
}

TEST_P(InteropTest, AWaiterOfTheirsWhoseSessionDiesGoesToTheEndOfTheLine) {
  auto first = ours("mutex");
  auto they = theirs("mutex");
  auto last = ours("mutex");
  ASSERT_TRUE(first.tries());
  they.ask();
  ASSERT_TRUE(line_is(2));
  last.ask();
  ASSERT_TRUE(line_is(3));
  ASSERT_EQ(peer_->ask("kill"), "ok");
  ASSERT_TRUE(line_is(3)) << "they come back by themselves";
  EXPECT_TRUE(last.still_waits());
  EXPECT_TRUE(first.release());
  EXPECT_TRUE(last.has_it());
  EXPECT_TRUE(they.still_waits());
  EXPECT_TRUE(last.release());
  EXPECT_TRUE(they.has_it());
  EXPECT_TRUE(they.release());
}

TEST_P(InteropTest, WeLearnThatOurNodeWasDeletedAndTheyTookOver) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(we.tries());
  ASSERT_THAT(line(), SizeIs(1));
  ASSERT_EQ(peer_->ask("delete " + path_ + "/" + line().at(0)), "ok");
  ASSERT_TRUE(they.tries());
  EXPECT_TRUE(eventually([&] { return we.hold().lost().stop_requested(); }));
  EXPECT_FALSE(we.release());
  EXPECT_THAT(line(), SizeIs(1)) << "theirs is left alone";
  EXPECT_TRUE(they.release());
}

TEST_P(InteropTest, WordsInTheFolderAreNobodysBusinessAndStay) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  ASSERT_EQ(peer_->ask("write " + path_ + " whatever"), "ok");
  we.ask();
  ASSERT_TRUE(line_is(2));
  EXPECT_TRUE(we.still_waits());
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(we.has_it());
  EXPECT_TRUE(we.release());
  EXPECT_EQ(peer_->ask("read " + path_), "ok whatever");
}

TEST_P(InteropTest, OurNodesLookLikeTheirs) {
  for (const auto& [kind, name] : {std::pair("mutex", library_.mutex_node), std::pair("write", library_.write_node),
                                   std::pair("read", library_.read_node)}) {
    auto we = ours(kind);
    ASSERT_TRUE(we.tries());
    ASSERT_THAT(line(), ElementsAre(MatchesRegex(name)));
    EXPECT_NE(peer_->ask("owner " + path_ + "/" + line().at(0)), "ok 0") << "it goes with its session";
    EXPECT_TRUE(we.release());
    EXPECT_TRUE(line_is(0));
  }
}

TEST_P(InteropTest, TheirsAreShownAsForeignInTheirPlace) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  auto they_again = theirs("mutex");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(2));
  they_again.ask();
  ASSERT_TRUE(line_is(3));
  const LockView view = we.client().inspect(path_).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_TRUE(view.holders[0].owner.foreign);
  ASSERT_THAT(view.waiters, SizeIs(2));
  EXPECT_FALSE(view.waiters[0].owner.foreign);
  EXPECT_TRUE(view.waiters[1].owner.foreign);
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(we.has_it());
  EXPECT_FALSE(we.client().inspect(path_).value().holders.at(0).owner.foreign);
  EXPECT_TRUE(we.release());
  EXPECT_TRUE(they_again.has_it());
  EXPECT_TRUE(they_again.release());
}

TEST_P(InteropTest, ReadersOfBothAreInsideTogetherAndAWriterOfEitherComesAfterThem) {
  for (const Side side : {Side::theirs, Side::ours}) {
    const auto reader = one_of(side, "read");
    const auto other_reader = one_of(other(side), "read");
    const auto writer = one_of(side, "write");
    ASSERT_TRUE(reader->tries());
    ASSERT_TRUE(other_reader->tries());
    EXPECT_FALSE(one_of(side, "write")->tries());
    EXPECT_FALSE(one_of(other(side), "write")->tries());
    writer->ask();
    ASSERT_TRUE(line_is(3));
    EXPECT_TRUE(reader->release());
    EXPECT_TRUE(writer->still_waits());
    EXPECT_TRUE(other_reader->release());
    EXPECT_TRUE(writer->has_it());
    EXPECT_TRUE(writer->release());
  }
}

TEST_P(InteropTest, AWriterOfEitherKeepsEverybodyOut) {
  for (const Side side : {Side::theirs, Side::ours}) {
    const auto writer = one_of(side, "write");
    ASSERT_TRUE(writer->tries());
    for (const Side who : {Side::theirs, Side::ours}) {
      EXPECT_FALSE(one_of(who, "write")->tries());
      EXPECT_FALSE(one_of(who, "read")->tries());
    }
    const auto reader = one_of(other(side), "read");
    reader->ask();
    ASSERT_TRUE(line_is(2));
    EXPECT_TRUE(reader->still_waits());
    EXPECT_TRUE(writer->release());
    EXPECT_TRUE(reader->has_it());
    EXPECT_TRUE(reader->release());
  }
}

TEST_P(InteropTest, AWriterOfEitherThatWaitsHoldsLaterReadersOfTheOtherBack) {
  for (const Side side : {Side::theirs, Side::ours}) {
    const auto reader = one_of(other(side), "read");
    const auto writer = one_of(side, "write");
    const auto later_reader = one_of(other(side), "read");
    ASSERT_TRUE(reader->tries());
    writer->ask();
    ASSERT_TRUE(line_is(2));
    EXPECT_FALSE(one_of(other(side), "read")->tries());
    later_reader->ask();
    ASSERT_TRUE(line_is(3));
    EXPECT_TRUE(later_reader->still_waits());
    EXPECT_TRUE(reader->release());
    EXPECT_TRUE(writer->has_it());
    EXPECT_TRUE(later_reader->still_waits());
    EXPECT_TRUE(writer->release());
    EXPECT_TRUE(later_reader->has_it());
    EXPECT_TRUE(later_reader->release());
  }
}

// In kazoo 2.8 a reader waits for the writers that came after it, too, and they wait for the reader (its issue 649). So
// none of its readers has a writer behind it here.
TEST_P(InteropTest, WritersOfBothTakeTurnsWithOurReaders) {
  Queue queue;
  const Arrivals arrivals{
      {Side::theirs, "write"}, {Side::ours, "write"}, {Side::ours, "read"},   {Side::ours, "read"},
      {Side::theirs, "write"}, {Side::ours, "read"},  {Side::theirs, "read"},
  };
  ASSERT_NO_FATAL_FAILURE(queue_up(queue, arrivals));
  ASSERT_NO_FATAL_FAILURE(expect_served(queue, {1, 1, 2, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(ZooKeeper, InteropTest, testing::Values(&curator, &kazoo),
                         [](const auto& info) { return info.param->name; });

class CuratorTest : public InteropTest {
 protected:
  CuratorTest() : InteropTest(&curator) {}

  std::string only_node() { return path_ + "/" + line().at(0); }
};

TEST_F(CuratorTest, ReadersAndWritersOfBothAreServedInTheOrderInWhichTheyCame) {
  for (const Side first : {Side::theirs, Side::ours}) {
    const Side second = other(first);
    Queue queue;
    const Arrivals arrivals{
        {first, "write"}, {second, "read"}, {first, "read"},   {second, "write"},
        {first, "write"}, {second, "read"}, {second, "write"}, {first, "read"},
    };
    ASSERT_NO_FATAL_FAILURE(queue_up(queue, arrivals));
    ASSERT_NO_FATAL_FAILURE(expect_served(queue, {1, 2, 1, 1, 1, 1, 1}));
  }
}

TEST_F(CuratorTest, TheySeeUsAmongTheParticipants) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  auto they_again = theirs("mutex");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(2));
  they_again.ask();
  ASSERT_TRUE(line_is(3));
  const std::vector<std::string> seen = they.participants();
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT(seen[0], testing::HasSubstr("/_c_"));
  EXPECT_THAT(seen[1], MatchesRegex(path_ + "/" + library_.mutex_node));
  EXPECT_THAT(seen[2], testing::HasSubstr("/_c_"));
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(we.has_it());
  EXPECT_TRUE(we.release());
  EXPECT_TRUE(they_again.has_it());
  EXPECT_TRUE(they_again.release());
}

TEST_F(CuratorTest, TheirRevocationReachesOurHolder) {
  auto we = ours("mutex");
  ASSERT_TRUE(we.tries());
  ASSERT_FALSE(we.hold().release_requested().stop_requested());
  ASSERT_EQ(peer_->ask("revoke " + only_node()), "ok");
  EXPECT_TRUE(eventually([&] { return we.hold().release_requested().stop_requested(); }));
  EXPECT_TRUE(we.hold().valid()) << "it was only asked";
  EXPECT_FALSE(theirs("mutex").tries());
  EXPECT_TRUE(we.client().inspect(path_).value().holders.at(0).release_requested);
  EXPECT_TRUE(we.release());
  EXPECT_TRUE(line_is(0));
}

TEST_F(CuratorTest, OurRevocationReachesTheirHolder) {
  auto they = theirs("revocable");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(2));
  Client operator_(url_);
  EXPECT_EQ(operator_.revoke(path_).code(), Errc{});
  EXPECT_TRUE(they.is_asked_to_let_go());
  EXPECT_TRUE(we.still_waits()) << "it was only asked";
  EXPECT_TRUE(they.release());
  EXPECT_TRUE(we.has_it());
}

TEST_F(CuratorTest, WhatWeTakeAwayAtOnceIsTheNextOnes) {
  auto they = theirs("mutex");
  auto we = ours("mutex");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(2));
  ASSERT_TRUE(we.still_waits());
  Client operator_(url_);
  EXPECT_EQ(operator_.revoke(path_, {.now = true}).code(), Errc{});
  EXPECT_TRUE(we.has_it());
  EXPECT_TRUE(line_is(1));
}

TEST_F(CuratorTest, LeasesOfBothCountTogether) {
  for (const Side side : {Side::theirs, Side::ours}) {
    const auto one = one_of(side, "2");
    const auto two = one_of(other(side), "2");
    ASSERT_TRUE(one->tries());
    ASSERT_TRUE(two->tries());
    for (const Side who : {Side::theirs, Side::ours}) {
      EXPECT_FALSE(one_of(who, "2")->tries());
      const auto impatient = one_of(who, "2");
      impatient->ask(300ms);
      EXPECT_EQ(impatient->outcome(hang), Outcome::refused);
    }
    EXPECT_TRUE(line_is(2, "/leases")) << "who gives up leaves nothing behind";
    EXPECT_TRUE(line_is(0, "/locks"));
    const auto three = one_of(other(side), "2");
    three->ask();
    ASSERT_TRUE(line_is(1, "/locks"));
    EXPECT_TRUE(three->still_waits());
    EXPECT_TRUE(one->release());
    EXPECT_TRUE(three->has_it());
    EXPECT_TRUE(two->release());
    EXPECT_TRUE(three->release());
    EXPECT_TRUE(line_is(0, "/leases"));
  }
}

TEST_F(CuratorTest, PermitsGoToThoseOfBothInTheOrderInWhichTheyCame) {
  constexpr std::size_t length = 6;
  for (const Side first : {Side::theirs, Side::ours}) {
    Queue queue;
    for (std::size_t i = 0; i < length; ++i) {
      queue.push_back(one_of(i % 2 == 0 ? first : other(first), "1"));
      queue.back()->ask();
      ASSERT_TRUE(queue[0]->has_it());
      ASSERT_TRUE(line_is(i, "/locks")) << "whoever waits";
    }
    ASSERT_NO_FATAL_FAILURE(expect_served(queue, std::vector<std::size_t>(length, 1)));
  }
}

TEST_F(CuratorTest, SeveralPermitsOfOursCountAsSoManyLeases) {
  Client client(url_);
  Hold two = client.semaphore(path_, 3).acquire(2).value();
  EXPECT_THAT(line("/leases"), SizeIs(2));
  auto third = theirs("3");
  ASSERT_TRUE(third.tries());
  EXPECT_FALSE(theirs("3").tries());
  EXPECT_TRUE(two.release());
  EXPECT_THAT(line("/leases"), SizeIs(1));
  auto all = std::async(std::launch::async, [&] { return client.semaphore(path_, 3).acquire(3, {.wait = hang}); });
  ASSERT_TRUE(line_is(1, "/locks"));
  EXPECT_FALSE(theirs("3").tries()) << "there are free ones, but not for those who come later";
  EXPECT_TRUE(third.release());
  EXPECT_EQ(all.get().code(), Errc{});
}

TEST_F(CuratorTest, ALeaseOfTheirsIsFreeWhenTheirSessionDies) {
  auto they = theirs("1");
  auto we = ours("1");
  ASSERT_TRUE(they.tries());
  we.ask();
  ASSERT_TRUE(line_is(1, "/locks"));
  ASSERT_TRUE(we.still_waits());
  ASSERT_EQ(peer_->ask("kill"), "ok");
  EXPECT_TRUE(we.has_it());
}

TEST_F(CuratorTest, ALeaseOfOursIsFreeWhenOurSessionEnds) {
  auto they = theirs("1");
  auto we = ours("1");
  ASSERT_TRUE(we.tries());
  they.ask();
  ASSERT_TRUE(line_is(1, "/locks"));
  ASSERT_TRUE(they.still_waits());
  EXPECT_TRUE(we.client().close());
  EXPECT_TRUE(they.has_it());
  EXPECT_TRUE(they.release());
}

TEST_F(CuratorTest, OurLeasesAndLocksLookLikeTheirs) {
  auto holder = ours("1");
  auto waiter = ours("1");
  ASSERT_TRUE(holder.tries());
  EXPECT_THAT(line(), ElementsAre("leases", "locks"));
  EXPECT_THAT(line("/leases"), ElementsAre(MatchesRegex("lease-[0-9]{10}")));
  EXPECT_THAT(line("/locks"), IsEmpty());
  waiter.ask();
  ASSERT_TRUE(line_is(1, "/locks"));
  EXPECT_THAT(line("/locks"), ElementsAre(MatchesRegex("lock-[0-9]{10}")));
}

}  // namespace
}  // namespace pawl
