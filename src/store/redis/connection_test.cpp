#include "store/redis/connection.hpp"

#include "base/manual_clock.hpp"
#include "base/real_runtime.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/server.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::redis {
namespace {

using namespace std::chrono_literals;
using base::RealRuntime;
using test::eventually;
using test::take;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Duration patience = 5s;  // the connection's timeout

/// The server's end of a connection; the test is the server.
class Peer : public test::Socket {
 public:
  explicit Peer(Socket socket) : Socket(std::move(socket)) {}

  /// The next command, its words with blanks between them. Nothing: the client has gone.
  std::string next() {
    std::vector<std::string> words = test::redis_words(bytes_);
    while (words.empty()) {
      const std::string more = read();
      if (more.empty()) return {};
      bytes_ += more;
      words = test::redis_words(bytes_);
    }
    Words whole;
    std::string text;
    for (const std::string& word : words) {
      whole.push_back(word);
      text += (text.empty() ? "" : " ") + word;
    }
    bytes_.erase(0, encode(whole).size());
    return text;
  }
  /// Has the client closed it, and said nothing before?
  bool left() { return next().empty(); }

 private:
  std::string bytes_;
};

class Listener {
 public:
  explicit Listener(int room = 16) : socket_(test::listen_on_tcp(room)) {}

  net::Address address() const { return {.host = "127.0.0.1", .port = socket_.port()}; }
  Peer accept() const { return Peer(socket_.accept()); }
  bool somebody_comes() const { return socket_.somebody_comes(); }

 private:
  const test::Socket socket_;
};

template <class T>
bool is_done(const std::future<Result<T>>& asked) {
  return asked.wait_for(0s) == std::future_status::ready;
}

using Asked = std::future<Result<Reply>>;

/// Time stands still unless a test moves it; the sockets are real.
class RedisConnectionTest : public testing::Test {
 protected:
  RedisConnectionTest() {
    plan_.timeout = patience;
    plan_.find = [this](Deadline) -> awaitable<Result<net::Address>> {
      ++finds_;
      co_return listener_.address();
    };
    plan_.greet = [](Deadline) -> awaitable<Result<void>> { co_return Result<void>(); };
  }
  void TearDown() override { drop(); }

  /// With the first words "HELLO", to which the server must say something.
  void greet_with_hello() {
    plan_.greet = [this](Deadline deadline) -> awaitable<Result<void>> {
      Words hello{"HELLO"};
      Result<Reply> welcome = co_await connection_->ask(std::move(hello), deadline);
      if (!welcome) co_return welcome.error();
      co_return Result<void>();
    };
  }
  void find_nobody() {
    plan_.find = [this](Deadline) -> awaitable<Result<net::Address>> {
      ++finds_;
      co_return Error{Errc::store_unavailable, "nobody knows"};
    };
  }
  void find_for_ever() {
    plan_.find = [this](Deadline) -> awaitable<Result<net::Address>> {
      ++finds_;
      base::Wakeup never(runtime_);
      co_await never.wait(base::Time::max());
      co_return listener_.address();
    };
  }

  void on_executor(const std::function<void()>& work) { test::on_executor(runtime_, work); }
  /// On the executor.
  Asked begin(std::initializer_list<std::string_view> words, Duration wait = 1h) {
    return test::begin(runtime_, connection_->call(Words(words), in(wait)));
  }
  Asked call(std::initializer_list<std::string_view> words, Duration wait = 1h) {
    Asked asked;
    make();
    on_executor([&] { asked = begin(words, wait); });
    return asked;
  }
  std::future<Result<void>> ready(Duration wait = 1h) {
    std::future<Result<void>> up;
    make();
    on_executor([&] { up = test::begin(runtime_, connection_->ready(in(wait))); });
    return up;
  }
  void make() {
    if (!connection_) connection_ = std::make_shared<Connection>(runtime_, plan_);
  }
  /// Connected, and nothing asked yet.
  Peer connected() {
    std::future<Result<void>> up = ready();
    Peer peer = listener_.accept();
    EXPECT_TRUE(take(up));
    return peer;
  }

  Deadline in(Duration wait) const { return Deadline::in(clock_.now(), wait); }
  void pass(Duration time) {
    runtime_.settle();  // whoever has something to do before it sits down and waits
    clock_.move_to(clock_.now() + time);
    runtime_.settle();
  }
  bool is_up() {
    bool up = false;
    on_executor([&] { up = connection_->is_up(); });
    return up;
  }
  int finds() {
    int count = 0;
    on_executor([&] { count = finds_; });
    return count;
  }
  void stop() {
    on_executor([&] { connection_->stop(); });
  }
  /// The next one is new.
  void drop() {
    on_executor([&] {
      if (connection_) connection_->stop();
      connection_.reset();
    });
  }

  base::ManualClock clock_;
  Listener listener_;
  Connection::Plan plan_;
  int finds_ = 0;
  RealRuntime runtime_{clock_};
  std::shared_ptr<Connection> connection_;
};

// Questions and answers

TEST_F(RedisConnectionTest, ItConnectsWhenItIsFirstNeeded) {
  make();
  runtime_.settle();
  EXPECT_EQ(finds(), 0);
  EXPECT_FALSE(is_up());
  Asked asked = call({"GET", "job"});
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "GET job");
  peer.say("$5\r\nalice\r\n");
  EXPECT_EQ(take(asked).value().text, "alice");
  EXPECT_TRUE(is_up());
}

TEST_F(RedisConnectionTest, WhatIsAskedInOneBreathIsSentInOneGo) {
  Peer peer = connected();
  Asked first, second;
  on_executor([&] {
    first = begin({"GET", "one"});
    second = begin({"GET", "two"});
  });
  EXPECT_EQ(peer.read(), encode({"GET", "one"}) + encode({"GET", "two"}));
  peer.say("+1\r\n+2\r\n");
  EXPECT_EQ(take(first).value().text, "1");
  EXPECT_EQ(take(second).value().text, "2");
}

TEST_F(RedisConnectionTest, WhatIsAskedBeforeItIsUpIsSentInOneGoAsWell) {
  greet_with_hello();
  Asked first = call({"GET", "one"}), second = call({"GET", "two"});
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "HELLO") << "the greeting comes first";
  peer.say("+OK\r\n");
  EXPECT_EQ(peer.read(), encode({"GET", "one"}) + encode({"GET", "two"}));
  peer.say("+1\r\n+2\r\n");
  EXPECT_EQ(take(first).value().text, "1");
  EXPECT_EQ(take(second).value().text, "2");
  EXPECT_EQ(finds(), 1);
}

TEST_F(RedisConnectionTest, AnAnswerMayComeInPieces) {
  Peer peer = connected();
  Asked asked = call({"GET", "job"});
  EXPECT_EQ(peer.next(), "GET job");
  peer.say("$5\r\nal");
  runtime_.settle();
  EXPECT_FALSE(is_done(asked));
  peer.say("ice\r\n");
  EXPECT_EQ(take(asked).value().text, "alice");
}

TEST_F(RedisConnectionTest, AnAnswerThatComesTooLateIsDropped) {
  Peer peer = connected();
  Asked impatient = call({"GET", "one"}, 1s);
  EXPECT_EQ(peer.next(), "GET one");
  pass(1s);
  const Result<Reply> none = take(impatient);
  EXPECT_EQ(none.code(), Errc::outcome_unknown);
  EXPECT_EQ(none.error().message, "the server did not answer in time");
  Asked patient = call({"GET", "two"});
  EXPECT_EQ(peer.next(), "GET two");
  peer.say("+late\r\n+right\r\n");
  EXPECT_EQ(take(patient).value().text, "right");
  EXPECT_EQ(finds(), 1) << "the same connection";
}

TEST_F(RedisConnectionTest, ADeadlineInThePastSendsNothing) {
  Peer peer = connected();
  Asked late = call({"SET", "never"}, 0s);
  EXPECT_EQ(take(late).code(), Errc::store_unavailable);
  Asked asked = call({"GET", "job"});
  EXPECT_EQ(peer.next(), "GET job") << "and nothing before it";
}

TEST_F(RedisConnectionTest, AnErrorIsAnErrorAndTheConnectionStays) {
  Peer peer = connected();
  Asked asked = call({"SET", "job"});
  EXPECT_EQ(peer.next(), "SET job");
  peer.say("-OOM command not allowed\r\n");
  EXPECT_EQ(take(asked).code(), Errc::overloaded);
  EXPECT_TRUE(is_up());
}

TEST_F(RedisConnectionTest, AScriptThatIsNotKnownIsAnAnswer) {
  Peer peer = connected();
  Asked asked = call({"EVALSHA", "12ab"});
  EXPECT_EQ(peer.next(), "EVALSHA 12ab");
  peer.say("-NOSCRIPT No matching script.\r\n");
  const Result<Reply> reply = take(asked);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->type, Reply::Type::error);
}

TEST_F(RedisConnectionTest, AnswersThatNobodyAskedForAreDropped) {
  Peer peer = connected();
  peer.say("+what\r\n");
  runtime_.settle();
  Asked asked = call({"GET", "job"});
  EXPECT_EQ(peer.next(), "GET job");
  peer.say("+right\r\n");
  EXPECT_TRUE(take(asked));
}

// Breaking off

TEST_F(RedisConnectionTest, WhatWasSentIsUnknownWhenItBreaks) {
  Peer peer = connected();
  Asked one = call({"SET", "one"}), two = call({"SET", "two"});
  EXPECT_EQ(peer.next(), "SET one");
  peer.say("+OK\r\n");
  EXPECT_EQ(peer.next(), "SET two");
  peer.close();
  EXPECT_TRUE(take(one)) << "it was answered before";
  const Result<Reply> unknown = take(two);
  EXPECT_EQ(unknown.code(), Errc::outcome_unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr(listener_.address().to_string()));
}

TEST_F(RedisConnectionTest, WhatWasNotSentIsKnownNotToBeDone) {
  Peer peer = connected();
  Asked asked;
  on_executor([&] {
    asked = begin({"SET", "job"});
    connection_->leave(Error{Errc::store_unavailable, "another server"});  // before it was sent
  });
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable);
  EXPECT_TRUE(peer.left()) << "nothing was sent";
}

TEST_F(RedisConnectionTest, WhatIsStuckBehindAFloodWasNotSent) {
  Peer peer = connected();
  const std::string flood(64 << 20, 'x');  // more than the kernel takes
  Asked stuck = call({"SET", flood});
  EXPECT_FALSE(peer.read().empty());  // some of it is under way
  runtime_.settle();
  Asked behind = call({"SET", "behind"});
  runtime_.settle();
  peer.close();
  EXPECT_EQ(take(stuck).code(), Errc::outcome_unknown);
  EXPECT_EQ(take(behind).code(), Errc::store_unavailable);
  pass(1s);
  Asked asked = call({"GET", "job"});
  Peer again = listener_.accept();
  EXPECT_EQ(again.next(), "GET job") << "nothing of the old connection";
  again.say("+right\r\n");
  EXPECT_EQ(take(asked).value().text, "right");
}

TEST_F(RedisConnectionTest, WhatFollowsAFloodIsUnknownOnceItIsUnderWay) {
  Peer peer = connected();
  const std::string flood(32 << 20, 'x');  // more than the kernel takes
  Asked first = call({"SET", flood});
  EXPECT_FALSE(peer.read().empty());
  Asked second = call({"SET", flood});
  const std::size_t all_of_the_first = encode({"SET", flood}).size();
  for (std::size_t seen = 0; seen < all_of_the_first + 65536;) seen += peer.read().size();
  peer.close();
  EXPECT_EQ(take(first).code(), Errc::outcome_unknown);
  EXPECT_EQ(take(second).code(), Errc::outcome_unknown);
}

TEST_F(RedisConnectionTest, AFloodArrivesWhole) {
  Peer peer = connected();
  const std::string flood(16 << 20, 'x');
  Asked one = call({"SET", flood}), two = call({"GET", "job"});
  const std::string expected = encode({"SET", flood}) + encode({"GET", "job"});
  std::string seen;
  while (seen.size() < expected.size()) {
    const std::string more = peer.read();
    ASSERT_FALSE(more.empty());
    seen += more;
  }
  EXPECT_TRUE(seen == expected);
  peer.say("+1\r\n+2\r\n");
  EXPECT_EQ(take(one).value().text, "1");
  EXPECT_EQ(take(two).value().text, "2");
}

TEST_F(RedisConnectionTest, WhatIsNotRedisBreaksItOff) {
  Peer peer = connected();
  Asked asked = call({"GET", "job"});
  EXPECT_EQ(peer.next(), "GET job");
  peer.say("HTTP/1.1 400 Bad Request\r\n");
  const Result<Reply> reply = take(asked);
  EXPECT_EQ(reply.code(), Errc::outcome_unknown);
  EXPECT_EQ(reply.error().message, "the server does not speak Redis' protocol");
  EXPECT_TRUE(peer.left());
}

TEST_F(RedisConnectionTest, AServerThatWasDemotedIsLeft) {
  for (const std::string_view demoted : {"READONLY You can't write", "MASTERDOWN Link with MASTER is down"}) {
    drop();
    Peer peer = connected();
    Asked refused = call({"SET", "one"}), other = call({"SET", "two"});
    EXPECT_EQ(peer.next(), "SET one");
    EXPECT_EQ(peer.next(), "SET two");
    peer.say("-" + std::string(demoted) + "\r\n");
    EXPECT_EQ(take(refused).code(), Errc::store_unavailable) << demoted;
    EXPECT_EQ(take(other).code(), Errc::outcome_unknown) << demoted;
    EXPECT_TRUE(peer.left()) << demoted;
    const int before = finds();
    pass(1s);
    Peer again = listener_.accept();
    EXPECT_GT(finds(), before) << "the master was looked for: " << demoted;
  }
}

TEST_F(RedisConnectionTest, LeftItFindsTheServerAgain) {
  Peer peer = connected();
  EXPECT_EQ(finds(), 1);
  Asked asked = call({"SET", "job"});
  EXPECT_EQ(peer.next(), "SET job");
  on_executor([&] { connection_->leave(Error{Errc::store_unavailable, "another server"}); });
  EXPECT_EQ(take(asked).code(), Errc::outcome_unknown);
  EXPECT_TRUE(peer.left());
  pass(1s);
  Peer again = listener_.accept();
  EXPECT_EQ(finds(), 2);
}

TEST_F(RedisConnectionTest, LeavingWhatIsDownDoesNothing) {
  make();
  on_executor([&] { connection_->leave(Error{Errc::store_unavailable, "another server"}); });
  runtime_.settle();
  EXPECT_EQ(finds(), 0);
}

TEST_F(RedisConnectionTest, RedialledItIsBrokenOffAlsoDuringItsGreeting) {
  greet_with_hello();
  auto up = ready();
  Peer first = listener_.accept();
  EXPECT_EQ(first.next(), "HELLO");
  on_executor([&] { connection_->redial(Error{Errc::store_unavailable, "another server"}); });
  EXPECT_TRUE(first.left());
  pass(10ms);
  Peer second = listener_.accept();
  EXPECT_EQ(second.next(), "HELLO");
  second.say("+OK\r\n");
  EXPECT_TRUE(take(up));
}

TEST_F(RedisConnectionTest, RedialledItIsBrokenOffAlsoBeforeItIsConnected) {
  base::Wakeup found(runtime_);
  plan_.find = [&](Deadline) -> awaitable<Result<net::Address>> {
    if (++finds_ == 1) co_await found.wait(base::Time::max());
    co_return listener_.address();
  };
  int ups = 0;
  plan_.up = [&ups] { ++ups; };
  auto up = ready();
  runtime_.settle();
  EXPECT_EQ(finds(), 1);
  on_executor([&] {
    connection_->redial(Error{Errc::store_unavailable, "another server"});
    found.notify();
  });
  Peer first = listener_.accept();
  EXPECT_TRUE(first.left()) << "it is where we were told not to go";
  pass(10ms);
  Peer second = listener_.accept();
  EXPECT_TRUE(take(up));
  EXPECT_EQ(finds(), 2);
  runtime_.settle();
  EXPECT_EQ(ups, 1);
}

// Silence

TEST_F(RedisConnectionTest, AShortDeadlineOfOneDoesNotBreakItOffForAll) {
  Peer peer = connected();
  Asked impatient = call({"GET", "one"}, 100ms), patient = call({"GET", "two"});
  EXPECT_EQ(peer.next(), "GET one");
  pass(100ms);
  EXPECT_EQ(take(impatient).code(), Errc::outcome_unknown);
  EXPECT_TRUE(is_up());
  EXPECT_FALSE(is_done(patient));
  EXPECT_EQ(peer.next(), "GET two");
  peer.say("+late\r\n+right\r\n");
  EXPECT_EQ(take(patient).value().text, "right");
}

TEST_F(RedisConnectionTest, AServerThatHangsIsLeftAfterItsTimeout) {
  Peer peer = connected();
  Asked impatient = call({"GET", "one"}, patience), patient = call({"GET", "two"});
  EXPECT_EQ(peer.next(), "GET one");
  EXPECT_EQ(peer.next(), "GET two");
  pass(patience);
  EXPECT_EQ(take(impatient).code(), Errc::outcome_unknown);
  const Result<Reply> reply = take(patient);
  EXPECT_EQ(reply.code(), Errc::outcome_unknown);
  EXPECT_EQ(reply.error().message, "the server does not answer");
  EXPECT_TRUE(peer.left());
}

TEST_F(RedisConnectionTest, ManyShortDeadlinesFindAServerThatHangsAsWell) {
  Peer peer = connected();
  for (int second = 1; second <= 5; ++second) {
    EXPECT_EQ(finds(), 1) << "it was left too early, before second " << second;
    Asked asked = call({"GET", "job"}, 1s);
    EXPECT_EQ(peer.next(), "GET job");
    pass(1s);
    EXPECT_EQ(take(asked).code(), Errc::outcome_unknown);
  }
  EXPECT_TRUE(peer.left());
}

TEST_F(RedisConnectionTest, AServerThatIsOnlySlowIsNotLeft) {
  Peer peer = connected();
  Asked slow = call({"GET", "one"}), slower = call({"GET", "two"}), impatient = call({"GET", "three"}, patience);
  pass(patience - 1s);
  peer.say("+1\r\n");
  EXPECT_TRUE(take(slow));
  pass(1s);
  EXPECT_EQ(take(impatient).code(), Errc::outcome_unknown);
  EXPECT_TRUE(is_up());
  peer.say("+2\r\n+3\r\n");
  EXPECT_EQ(take(slower).value().text, "2");
}

// One that only listens

class RedisListenerTest : public RedisConnectionTest {
 protected:
  RedisListenerTest() {
    plan_.hear = [this](const Reply& reply) { heard_.push_back(reply.text); };
    plan_.up = [this] { ++ups_; };
  }
  std::vector<std::string> heard() {
    std::vector<std::string> all;
    on_executor([&] { all = heard_; });
    return all;
  }
  void probe() {
    on_executor([&] { connection_->probe(); });
  }

  std::vector<std::string> heard_;
  int ups_ = 0;
};

TEST_F(RedisListenerTest, TheGreetingIsAnsweredAndTheRestIsHeard) {
  greet_with_hello();
  std::future<Result<void>> up = ready();
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "HELLO");
  peer.say("+OK\r\n");
  ASSERT_TRUE(take(up));
  EXPECT_EQ(ups_, 1);
  on_executor([&] { connection_->send({"SUBSCRIBE", "job"}); });
  EXPECT_EQ(peer.next(), "SUBSCRIBE job");
  peer.say("+one\r\n+two\r\n");
  peer.say("-ERR three\r\n");
  EXPECT_TRUE(eventually([&] { return heard().size() == 3; }));
  EXPECT_THAT(heard(), ElementsAre("one", "two", "ERR three"));
}

TEST_F(RedisListenerTest, ItSaysWhenItIsUpAgain) {
  { Peer peer = connected(); }
  EXPECT_TRUE(eventually([&] { return !is_up(); }));
  pass(1s);
  Peer again = listener_.accept();
  EXPECT_TRUE(eventually([&] { return is_up(); }));
  on_executor([&] { EXPECT_EQ(ups_, 2); });
}

TEST_F(RedisListenerTest, NothingIsSentUnlessItIsUp) {
  find_for_ever();
  std::future<Result<void>> up = ready();
  on_executor([&] { connection_->send({"SUBSCRIBE", "job"}); });
  probe();
  EXPECT_FALSE(is_up());
  EXPECT_FALSE(is_done(up));
}

TEST_F(RedisListenerTest, AProbeThatIsAnsweredIsASignOfLife) {
  Peer peer = connected();
  for (int i = 1; i <= 3; ++i) {
    pass(patience);
    probe();
    EXPECT_EQ(peer.next(), "PING");
    pass(1ms);
    peer.say("+PONG\r\n");
    ASSERT_TRUE(eventually([&] { return heard().size() == static_cast<std::size_t>(i); }));
  }
  EXPECT_TRUE(is_up());
  EXPECT_EQ(finds(), 1);
}

TEST_F(RedisListenerTest, AProbeThatNobodyAnswersBreaksItOff) {
  Peer peer = connected();
  pass(1ms);
  probe();
  EXPECT_EQ(peer.next(), "PING");
  pass(patience - 1ms);
  probe();
  EXPECT_TRUE(is_up()) << "it has some time left";
  EXPECT_EQ(finds(), 1);
  pass(1ms);
  probe();
  EXPECT_TRUE(peer.left()) << "and was not asked twice";
}

TEST_F(RedisListenerTest, WhatIsHeardIsASignOfLifeToo) {
  Peer peer = connected();
  pass(1ms);
  probe();
  EXPECT_EQ(peer.next(), "PING");
  pass(1ms);
  peer.say("+news\r\n");
  ASSERT_TRUE(eventually([&] { return !heard().empty(); }));
  pass(patience);
  probe();
  EXPECT_TRUE(is_up());
  EXPECT_EQ(peer.next(), "PING");
}

TEST_F(RedisListenerTest, AnOldProbeDoesNotCountOnANewConnection) {
  {
    Peer peer = connected();
    pass(1ms);
    probe();
    EXPECT_EQ(peer.next(), "PING");
  }
  ASSERT_TRUE(eventually([&] { return !is_up(); }));
  pass(patience);
  Peer again = listener_.accept();
  ASSERT_TRUE(eventually([&] { return is_up(); }));
  probe();
  EXPECT_EQ(again.next(), "PING");
  EXPECT_TRUE(is_up());
}

// Trying again

TEST_F(RedisConnectionTest, ItTriesAgainWithLongerAndLongerPauses) {
  find_nobody();
  Asked asked = call({"GET", "job"});
  runtime_.settle();
  int tries = 1;
  EXPECT_EQ(finds(), tries);
  for (const Duration pause : std::vector<Duration>{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s}) {
    const base::Time began = clock_.now();
    pass(pause / 2 - 1ms);  // half of it is at random
    EXPECT_EQ(finds(), tries) << "before " << pause.count();
    while (finds() == tries) pass(1ms);
    EXPECT_LE(clock_.now() - began, pause) << "after " << pause.count();
    ++tries;
  }
  EXPECT_FALSE(is_done(asked));
}

TEST_F(RedisConnectionTest, ItIsUpAgainByItself) {
  {
    Peer peer = connected();
    peer.say("$100\r\nhalf a reply");  // of which the next connection knows nothing
  }
  EXPECT_TRUE(eventually([&] { return !is_up(); }));
  pass(1s);
  Peer again = listener_.accept();
  EXPECT_TRUE(eventually([&] { return is_up(); }));
  Asked asked = call({"GET", "job"});
  EXPECT_EQ(again.next(), "GET job");
  again.say("+right\r\n");
  EXPECT_EQ(take(asked).value().text, "right");
}

// Otherwise a server that closes every connection at once would be asked as fast as the machine can.
TEST_F(RedisConnectionTest, AServerThatShowsEverybodyTheDoorIsNotRunInto) {
  { Peer peer = connected(); }
  ASSERT_TRUE(eventually([&] { return !is_up(); }));
  runtime_.settle();
  EXPECT_EQ(finds(), 1);
  EXPECT_FALSE(listener_.somebody_comes());
  pass(1s);
  Peer again = listener_.accept();
}

TEST_F(RedisConnectionTest, OneThatWasUpForLongIsTriedAgainAtOnce) {
  {
    Peer peer = connected();
    pass(1s);
  }
  Peer again = listener_.accept();  // no time passes
  EXPECT_EQ(finds(), 2);
}

TEST_F(RedisConnectionTest, ItSaysWhyItIsDownIfItWasUp) {
  std::vector<std::string> reasons;
  plan_.down = [&](const Error& why) { reasons.push_back(why.message); };
  greet_with_hello();
  std::future<Result<void>> up = ready();
  Peer refused = listener_.accept();
  EXPECT_EQ(refused.next(), "HELLO");
  refused.say("-LOADING Redis is loading\r\n");
  EXPECT_TRUE(refused.left());
  runtime_.settle();
  pass(1s);
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "HELLO");
  peer.say("+OK\r\n");
  ASSERT_TRUE(take(up));
  on_executor([&] { EXPECT_EQ(reasons.size(), 0u) << "it was never up"; });
  peer.say("hello\r\n");
  EXPECT_TRUE(peer.left());
  runtime_.settle();
  on_executor([&] { EXPECT_THAT(reasons, ElementsAre("the server does not speak Redis' protocol")); });
  drop();
}

TEST_F(RedisConnectionTest, ADeadlineEndsTheWaitForAServerWithItsReason) {
  find_nobody();
  Asked asked = call({"SET", "job"}, 2s);
  pass(1s);
  EXPECT_FALSE(is_done(asked));
  pass(1s);
  const Result<Reply> reply = take(asked);
  EXPECT_EQ(reply.code(), Errc::store_unavailable);
  EXPECT_EQ(reply.error().message, "nobody knows");
}

TEST_F(RedisConnectionTest, ADeadlineEndsTheWaitForAServerThatIsNotFound) {
  find_for_ever();
  Asked asked = call({"SET", "job"}, 2s);
  pass(2s);
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable);
}

TEST_F(RedisConnectionTest, OnceMeansThatTheFirstErrorIsTheAnswer) {
  const test::Port nobody;
  plan_.once = true;
  plan_.find = [port = nobody.number()](Deadline) -> awaitable<Result<net::Address>> {
    co_return net::Address{.host = "127.0.0.1", .port = port};
  };
  Asked asked = call({"GET", "job"});
  const Result<Reply> reply = take(asked);  // no time passes
  EXPECT_EQ(reply.code(), Errc::store_unavailable);
  EXPECT_THAT(reply.error().message, HasSubstr("Connection refused"));
}

// Though nothing had to be waited for.
TEST_F(RedisConnectionTest, AnErrorThatIsThereAtOnceIsNotWaitedFor) {
  find_nobody();
  plan_.once = true;
  Asked asked = call({"GET", "job"});
  runtime_.settle();
  EXPECT_EQ(finds(), 1);
  ASSERT_TRUE(is_done(asked));
  EXPECT_EQ(take(asked).error().message, "nobody knows");
}

TEST_F(RedisConnectionTest, WhatWouldNotHelpIsNotTriedAgain) {
  for (const std::string_view welcome : {"-WRONGPASS invalid\r\n", "-MOVED 1 127.0.0.1:1\r\n"}) {
    drop();
    greet_with_hello();
    Asked asked = call({"GET", "job"});
    Peer peer = listener_.accept();
    EXPECT_EQ(peer.next(), "HELLO");
    peer.say(welcome);
    EXPECT_EQ(take(asked).code(), error_of(std::string(welcome.substr(1))).code);
    EXPECT_TRUE(peer.left());
  }
}

TEST_F(RedisConnectionTest, AGreetingThatFailsIsTriedAgain) {
  greet_with_hello();
  Asked asked = call({"GET", "job"});
  {
    Peer peer = listener_.accept();
    EXPECT_EQ(peer.next(), "HELLO");
    peer.say("-LOADING Redis is loading\r\n");
    EXPECT_TRUE(peer.left());
  }
  EXPECT_FALSE(is_done(asked));
  runtime_.settle();
  pass(1s);
  Peer again = listener_.accept();
  EXPECT_EQ(again.next(), "HELLO");
  again.say("+OK\r\n");
  EXPECT_EQ(again.next(), "GET job");
  again.say("+right\r\n");
  EXPECT_EQ(take(asked).value().text, "right");
}

TEST_F(RedisConnectionTest, AGreetingThatNobodyAnswersLeavesNothingUnknown) {
  greet_with_hello();
  plan_.once = true;
  Asked asked = call({"SET", "job"});
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "HELLO");
  pass(patience);
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable) << "SET was never sent";
  EXPECT_TRUE(peer.left());
}

TEST_F(RedisConnectionTest, WhatIsToldInTheGreetingNeedsNoAnswerOfItsOwn) {
  plan_.greet = [this](Deadline deadline) -> awaitable<Result<void>> {
    connection_->tell({"TELL"});
    Words hello{"HELLO"};
    Result<Reply> welcome = co_await connection_->ask(std::move(hello), deadline);
    if (!welcome) co_return welcome.error();
    if (!welcome->is("hello")) co_return Error{Errc::unsupported, "the answers are mixed up"};
    co_return Result<void>();
  };
  std::future<Result<void>> up = ready();
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "TELL");
  EXPECT_EQ(peer.next(), "HELLO");
  peer.say("-ERR whatever\r\n+hello\r\n");
  EXPECT_TRUE(take(up));
}

// stop(), state by state

TEST_F(RedisConnectionTest, StoppedBeforeItWasNeededItIsClosed) {
  make();
  stop();
  stop();
  Asked asked = call({"GET", "job"});
  const Result<Reply> reply = take(asked);
  EXPECT_EQ(reply.code(), Errc::store_unavailable);
  EXPECT_EQ(reply.error().message, "the connection is closed");
  EXPECT_EQ(finds(), 0);
}

TEST_F(RedisConnectionTest, StoppedWhileTheServerIsLookedFor) {
  find_for_ever();
  Asked asked = call({"GET", "job"});
  runtime_.settle();
  stop();
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable);
}

TEST_F(RedisConnectionTest, StoppedBetweenTwoTries) {
  find_nobody();
  Asked asked = call({"GET", "job"});
  runtime_.settle();
  stop();
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable);
  pass(1h);
  EXPECT_EQ(finds(), 1);
}

TEST_F(RedisConnectionTest, StoppedWhileItConnects) {
  const Listener full(0);
  std::vector<std::shared_ptr<Connection>> others;  // fill the room that there is
  plan_.find = [this, &full](Deadline) -> awaitable<Result<net::Address>> {
    ++finds_;
    co_return full.address();
  };
  std::vector<std::future<Result<void>>> ups;
  for (int i = 0; i < 4; ++i) {
    connection_.reset();
    ups.push_back(ready());
    others.push_back(connection_);
  }
  ASSERT_TRUE(eventually([&] { return is_done(ups[0]); }));
  runtime_.settle();
  ASSERT_FALSE(is_up()) << "there is room for all";
  stop();
  EXPECT_EQ(take(ups.back()).code(), Errc::store_unavailable);
  on_executor([&] {
    for (const auto& other : others) other->stop();
    others.clear();
  });
}

TEST_F(RedisConnectionTest, StoppedWhileItGreets) {
  greet_with_hello();
  Asked asked = call({"GET", "job"});
  Peer peer = listener_.accept();
  EXPECT_EQ(peer.next(), "HELLO");
  stop();
  EXPECT_EQ(take(asked).code(), Errc::store_unavailable);
  EXPECT_TRUE(peer.left());
}

TEST_F(RedisConnectionTest, StoppedWhileItIsUp) {
  Peer peer = connected();
  Asked asked = call({"SET", "job"});
  EXPECT_EQ(peer.next(), "SET job");
  stop();
  EXPECT_EQ(take(asked).code(), Errc::outcome_unknown) << "it was sent";
  EXPECT_TRUE(peer.left());
  Asked after = call({"SET", "job"});
  EXPECT_EQ(take(after).code(), Errc::store_unavailable);
  pass(1h);
  EXPECT_FALSE(listener_.somebody_comes());
}

TEST_F(RedisConnectionTest, StoppedWhileItWritesAFlood) {
  Peer peer = connected();
  Asked asked = call({"SET", std::string(64 << 20, 'x')});
  EXPECT_FALSE(peer.read().empty());
  stop();
  EXPECT_EQ(take(asked).code(), Errc::outcome_unknown);
}

TEST_F(RedisConnectionTest, StoppedItLeavesNothingBehind) {
  Peer peer = connected();
  Asked asked = call({"SET", "job"});
  const std::weak_ptr<Connection> weak = connection_;
  drop();
  EXPECT_FALSE(take(asked));
  EXPECT_TRUE(eventually([&] { return weak.expired(); }));
}

// Its runtime ends first

TEST(RedisConnectionAtTheEnd, ItGoesWithItsRuntimeWhateverItDoes) {
  enum class Until { looked_for, connecting, between_tries, greeting, up, asked };
  for (const Until until :
       {Until::looked_for, Until::connecting, Until::between_tries, Until::greeting, Until::up, Until::asked}) {
    SCOPED_TRACE(static_cast<int>(until));
    Listener listener(until == Until::connecting ? 0 : 16);
    auto runtime = std::make_unique<RealRuntime>();
    RealRuntime& on = *runtime;
    std::atomic<int> found = 0;
    std::vector<std::shared_ptr<Connection>> started;
    std::vector<std::weak_ptr<Connection>> connections;
    connections.reserve(4);  // the first is looked at while others are added
    Connection::Plan plan;
    plan.timeout = 1h;
    plan.find = [&](Deadline) -> awaitable<Result<net::Address>> {
      ++found;
      base::Wakeup never(on);
      if (until == Until::looked_for) co_await never.wait(base::Time::max());
      if (until == Until::between_tries) co_return Error{Errc::store_unavailable, "nobody knows"};
      co_return listener.address();
    };
    plan.greet = [&](Deadline deadline) -> awaitable<Result<void>> {
      const auto self = connections.front().lock();
      Words hello{"HELLO"};
      if (until != Until::greeting) co_return Result<void>();
      Result<Reply> welcome = co_await self->ask(std::move(hello), deadline);
      co_return welcome ? Result<void>() : Result<void>(welcome.error());
    };
    std::vector<Asked> asked;
    for (int i = 0; i < (until == Until::connecting ? 4 : 1); ++i) {
      const auto connection = std::make_shared<Connection>(*runtime, plan);
      started.push_back(connection);
      connections.push_back(connection);
      Words words{"GET", "job"};
      asked.push_back(test::begin(*runtime, connection->call(std::move(words), Deadline::never())));
    }
    EXPECT_TRUE(eventually([&] { return found >= static_cast<int>(started.size()); }));
    started.clear();  // they keep themselves
    if (until == Until::greeting || until == Until::asked) {
      Peer peer = listener.accept();
      EXPECT_EQ(peer.next(), until == Until::greeting ? "HELLO" : "GET job");
      runtime.reset();
    } else if (until == Until::up) {
      Peer peer = listener.accept();
      EXPECT_EQ(peer.next(), "GET job");
      peer.say("+right\r\n");
      EXPECT_EQ(take(asked[0]).value().text, "right");
      runtime.reset();
    } else {
      runtime.reset();
    }
    for (const auto& connection : connections) EXPECT_TRUE(connection.expired());
  }
}

}  // namespace
}  // namespace pawl::store::redis
