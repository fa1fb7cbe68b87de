#include "store/redis/sentinels.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::store::redis {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::take;
using testing::ElementsAre;

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

/// Answers as a sentinel does, with what the test tells it.
/// Threads: safe to share. It runs in a thread of its own, which ends with this object.
class FakeSentinel {
 public:
  FakeSentinel(std::uint16_t master, std::uint64_t epoch) : port_(master), epoch_(epoch), thread_([this] { run(); }) {}
  ~FakeSentinel() {
    change([&] { over_ = true; });
    thread_.join();
  }
  FakeSentinel(const FakeSentinel&) = delete;
  FakeSentinel& operator=(const FakeSentinel&) = delete;

  net::Address address() const { return {.host = "127.0.0.1", .port = listener_.port()}; }
  void name(std::uint16_t master, std::uint64_t epoch) {
    change([&] { port_ = master, epoch_ = epoch; });
  }
  void announce(const std::string& channel, const std::string& text) {
    change([&] { say_ += "*3\r\n" + bulk("message") + bulk(channel) + bulk(text); });
  }
  void announce_switch() { announce("+switch-master", "locks 127.0.0.1 1000 127.0.0.1 1001"); }
  /// Closes the connections of those who listen. They may come again.
  void cut() {
    change([&] { cut_ = true; });
  }
  /// Whoever asks is shown the door.
  void refuse(bool refuse) {
    change([&] { refuse_ = refuse; });
  }
  /// How often it was asked for the master.
  int asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  /// How many listen to both channels.
  int listeners() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), [](const Peer& it) { return it.heard == 2; }));
  }

 private:
  struct Peer {
    explicit Peer(test::Socket from) : socket(std::move(from)) {}
    test::Socket socket;
    std::string bytes = {};
    int heard = 0;  // channels that it listens to
    bool over = false;
  };

  template <class Change>
  void change(Change what) {
    {
      const std::lock_guard lock(mutex_);
      what();
    }
    bell_.ring();
  }

  void run() {
    for (;;) {
      std::vector<pollfd> polled{{listener_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}};
      for (const Peer& peer : peers_) polled.push_back({peer.socket.fd(), POLLIN, 0});
      ::poll(polled.data(), polled.size(), -1);
      bell_.hear();
      const std::lock_guard lock(mutex_);
      if (over_) return;
      std::size_t i = 2;
      for (Peer& peer : peers_) {
        if (polled[i++].revents != 0) serve(peer);
        if (peer.heard > 0) say(peer, say_);
        if (peer.heard > 0 && cut_) peer.over = true;
      }
      say_.clear();
      cut_ = false;
      peers_.remove_if([](const Peer& peer) { return peer.over; });
      if (polled[0].revents != 0) peers_.emplace_back(listener_.accept());
    }
  }

  /// It may have gone.
  static void say(const Peer& peer, const std::string& bytes) {
    if (!bytes.empty()) ::send(peer.socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void serve(Peer& peer) {
    const std::string more = peer.socket.read();
    if (more.empty()) peer.over = true;
    peer.bytes += more;
    for (auto words = test::redis_words(peer.bytes); !words.empty(); words = test::redis_words(peer.bytes)) {
      Words whole;
      for (const std::string& word : words) whole.push_back(word);
      peer.bytes.erase(0, encode(whole).size());
      if (words[0] == "SENTINEL" && refuse_) {
        asked_ += words[1] == "MASTER" ? 1 : 0;
        peer.over = true;
        return;
      }
      say(peer, answer(peer, words));
    }
  }

  std::string answer(Peer& peer, const std::vector<std::string>& words) {
    if (words[0] == "SUBSCRIBE") {
      ++peer.heard;
      return "*3\r\n" + bulk("subscribe") + bulk(words[1]) + ":" + std::to_string(peer.heard) + "\r\n";
    }
    if (words[0] == "PING") return "*2\r\n" + bulk("pong") + bulk("");
    if (words[1] == "MASTER") {
      ++asked_;
      return "*4\r\n" + bulk("name") + bulk(words[2]) + bulk("config-epoch") + bulk(std::to_string(epoch_));
    }
    return "*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(port_));
  }

  const test::Socket listener_ = test::listen_on_tcp();
  const test::Bell bell_;
  mutable std::mutex mutex_;  // guards all below; peers_ are changed by the thread alone
  std::list<Peer> peers_;
  std::uint16_t port_;
  std::uint64_t epoch_;
  std::string say_;
  int asked_ = 0;
  bool cut_ = false;
  bool refuse_ = false;
  bool over_ = false;
  std::thread thread_;  // last: it uses all the others
};

class SentinelsTest : public testing::Test {
 protected:
  void TearDown() override {
    test::on_executor(runtime_, [&] { sentinels_->stop(); });
  }
  /// The port of the master that they name; 0: none.
  std::uint16_t find() {
    std::future<Result<net::Address>> found;
    test::on_executor(runtime_, [&] {
      found = test::begin(runtime_, sentinels_->find_master(base::Deadline::in(runtime_.now(), 60s)));
    });
    return take(found).value_or(net::Address()).port;
  }
  void watch() {
    test::on_executor(
        runtime_, [&] { sentinels_->watch(60s, [&](const net::Address& master) { moves_.push_back(master.port); }); });
    EXPECT_TRUE(eventually([&] { return one_.listeners() == 1 && other_.listeners() == 1; }));
    EXPECT_TRUE(eventually([&] { return one_.asked() + other_.asked() >= 3; })) << "both, when they could be heard";
    runtime_.settle();
  }
  std::vector<std::uint16_t> moves() {
    std::vector<std::uint16_t> moves;
    test::on_executor(runtime_, [&] { moves = moves_; });
    return moves;
  }
  bool moved_to(std::uint16_t port) {
    return eventually([&] { return !moves().empty() && moves().back() == port; });
  }

  FakeSentinel one_{1000, 4};
  FakeSentinel other_{1000, 4};
  std::vector<std::uint16_t> moves_;
  base::RealRuntime runtime_;
  std::shared_ptr<Sentinels> sentinels_ =
      std::make_shared<Sentinels>(runtime_, std::vector<net::Address>{one_.address(), other_.address()}, "locks");
};

Reply message(const std::string& channel, const std::string& text) {
  ReplyReader reader;
  reader.feed("*3\r\n" + bulk("message") + bulk(channel) + bulk(text));
  return reader.next().value().value();
}

TEST(SentinelMessageTest, OnlyThatOfOurMasterAnnouncesItsFailover) {
  const std::string switched = "locks 10.0.0.1 6379 10.0.0.2 6379";
  const std::string promoted = "slave 10.0.0.2:6379 10.0.0.2 6379 @ locks 10.0.0.1 6379";
  EXPECT_TRUE(announces_failover(message("+switch-master", switched), "locks"));
  EXPECT_TRUE(announces_failover(message("+promoted-slave", promoted), "locks"));
  EXPECT_FALSE(announces_failover(message("+switch-master", switched), "lock"));
  EXPECT_FALSE(announces_failover(message("+promoted-slave", promoted), "lock"));
  EXPECT_FALSE(announces_failover(message("+switch-master", promoted), "locks"));
  EXPECT_FALSE(announces_failover(message("+sdown", switched), "locks"));
  EXPECT_FALSE(announces_failover(Reply(), "locks"));
}

TEST_F(SentinelsTest, OneThatIsBehindIsNotBelievedAnyMore) {
  EXPECT_EQ(find(), 1000);
  other_.name(1001, 5);
  EXPECT_EQ(find(), 1001);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(find(), 1001) << "whichever is asked first";
}

TEST_F(SentinelsTest, OneThatIsBehindIsNotBelievedEitherWhileTheOtherIsAway) {
  other_.name(1001, 5);
  EXPECT_EQ(find(), 1000);
  EXPECT_EQ(find(), 1001);
  other_.refuse(true);
  EXPECT_EQ(find(), 0);
  other_.refuse(false);
  EXPECT_EQ(find(), 1001);
}

TEST_F(SentinelsTest, WhenAllWereSetUpAnewTheyAreBelieved) {
  EXPECT_EQ(find(), 1000);
  one_.name(1002, 0);
  other_.name(1002, 0);
  EXPECT_EQ(find(), 1002);
}

TEST_F(SentinelsTest, AnAnnouncedFailoverIsToldOnceAfterAskingForIt) {
  EXPECT_EQ(find(), 1000);
  watch();
  one_.name(1001, 5);
  one_.announce("+promoted-slave", "slave 127.0.0.1:1001 127.0.0.1 1001 @ locks 127.0.0.1 1000");
  EXPECT_TRUE(moved_to(1001));
  const int before = other_.asked();
  other_.name(1001, 5);
  other_.announce_switch();
  EXPECT_TRUE(eventually([&] { return other_.asked() > before; }));
  EXPECT_EQ(find(), 1001);
  EXPECT_THAT(moves(), ElementsAre(1001)) << "the other one tells nothing new";
}

TEST_F(SentinelsTest, AnAnnouncementAloneMovesNothing) {
  EXPECT_EQ(find(), 1000);
  watch();
  const int before = one_.asked();
  one_.announce("+switch-master", "others 127.0.0.1 1000 127.0.0.1 1001");
  one_.announce_switch();
  EXPECT_TRUE(eventually([&] { return one_.asked() == before + 1; }));
  EXPECT_EQ(find(), 1000);
  EXPECT_THAT(moves(), ElementsAre()) << "asked, it names the same master as before";
}

TEST_F(SentinelsTest, OneThatIsCutOffDoesNotLeadBackToTheOldMaster) {
  other_.name(1001, 5);
  EXPECT_EQ(find(), 1000);
  EXPECT_EQ(find(), 1001);
  watch();
  const int before = one_.asked();
  one_.announce_switch();
  one_.cut();
  EXPECT_TRUE(eventually([&] { return one_.asked() >= before + 2; }))
      << "of its announcement, and when it is heard again";
  EXPECT_EQ(find(), 1001);
  EXPECT_THAT(moves(), ElementsAre());
}

TEST_F(SentinelsTest, OneThatWasNotHeardForAWhileIsAsked) {
  EXPECT_EQ(find(), 1000);
  watch();
  one_.name(1001, 5);
  one_.cut();
  EXPECT_TRUE(moved_to(1001));
}

TEST_F(SentinelsTest, OneThatDidNotAnswerIsAskedAgainWithTheNextProbe) {
  EXPECT_EQ(find(), 1000);
  watch();
  one_.name(1001, 5);
  one_.refuse(true);
  const int before = one_.asked();
  one_.announce_switch();
  EXPECT_TRUE(eventually([&] { return one_.asked() > before; }));
  one_.refuse(false);
  EXPECT_TRUE(eventually([&] {
    test::on_executor(runtime_, [&] { sentinels_->probe(); });
    return !moves().empty();
  }));
  EXPECT_THAT(moves(), ElementsAre(1001));
}

}  // namespace
}  // namespace pawl::store::redis
