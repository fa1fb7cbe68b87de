#include "store/etcd/channel.hpp"

#include "base/manual_clock.hpp"
#include "base/real_runtime.hpp"
#include "tests/support/grpc_peer.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::etcd {
namespace {

using namespace std::chrono_literals;
using test::GrpcPeer;
using test::take;
using testing::HasSubstr;
using testing::SizeIs;

constexpr Duration patience = 3s;       // the channel's timeout
constexpr Duration between_pings = 6s;  // and a little more
constexpr std::string_view some_path = "/etcdserverpb.KV/Txn";

/// The server's end of a connection; the test is the server.
class Peer {
 public:
  explicit Peer(test::Socket socket) : socket_(std::move(socket)) {}

  /// Hears what the client says until it is so.
  void hear_until(const std::function<bool()>& so) {
    while (!so() && !gone_) hear();
    EXPECT_TRUE(so()) << "the client has gone";
    speak();
  }
  void hear() {
    const std::string bytes = socket_.read();
    gone_ = bytes.empty();
    grpc.feed(bytes);
    speak();
  }
  void speak() const {
    const std::string bytes = grpc_->take();
    if (!bytes.empty()) socket_.say(bytes);
  }
  /// Hears a whole call.
  std::int32_t call() {
    const std::size_t before = whole_;
    const auto count = [this] {
      std::size_t whole = 0;
      for (const auto& [id, call] : grpc_->calls()) whole += call.ended ? 1 : 0;
      return whole;
    };
    hear_until([&] { return count() > before; });
    ++whole_;
    return grpc_->calls().rbegin()->first;
  }
  void answer(std::int32_t call, const std::string& bytes) {
    grpc_->answer(call, bytes);
    speak();
  }
  /// Has the client closed it?
  bool left() {
    while (!gone_) hear();
    return gone_;
  }
  void close() { socket_.close(); }

 private:
  test::Socket socket_;
  std::unique_ptr<GrpcPeer> grpc_ = std::make_unique<GrpcPeer>();
  std::size_t whole_ = 0;
  bool gone_ = false;

 public:
  GrpcPeer& grpc = *grpc_;
};

class Ear final : public Channel::Hearer {
 public:
  void message(const std::string& bytes) override { messages.push_back(bytes); }
  void finished(const Status& status) override { end = status; }

  std::vector<std::string> messages;
  std::optional<Status> end;
};

using Asked = std::future<Result<Channel::Reply>>;

/// Time stands still unless a test moves it; the sockets are real.
class EtcdChannelTest : public testing::Test {
 protected:
  ~EtcdChannelTest() override {
    on_executor([this] {
      if (channel_) channel_->close();
      channel_.reset();
    });
  }

  void on_executor(const std::function<void()>& work) { test::on_executor(runtime_, work); }
  Deadline in(Duration wait) const { return Deadline::in(clock_.now(), wait); }
  std::future<Result<void>> open() {
    std::future<Result<void>> opened;
    on_executor([&] {
      Channel::Plan plan;
      plan.address = {.host = "127.0.0.1", .port = listener_.port()};
      plan.timeout = patience;
      plan.down = [this](const Error& why) { downs_.push_back(why.message); };
      channel_ = std::make_shared<Channel>(runtime_, std::move(plan));
      opened = test::begin(runtime_, channel_->open(in(patience)));
    });
    return opened;
  }
  Peer connected() {
    std::future<Result<void>> opened = open();
    Peer peer(listener_.accept());
    peer.hear();
    EXPECT_TRUE(take(opened));
    return peer;
  }
  static awaitable<Result<Channel::Reply>> wrapped(std::shared_ptr<Channel> channel, std::string body,
                                                   Deadline deadline) {
    Channel::Reply reply = co_await channel->unary(some_path, std::move(body), nullptr, deadline);
    co_return reply;
  }
  Asked call(const std::string& body, Duration wait = 1h) {
    Asked asked;
    on_executor([&] { asked = test::begin(runtime_, wrapped(channel_, body, in(wait))); });
    return asked;
  }
  Channel::CallId begin(const std::shared_ptr<Ear>& ear) {
    std::optional<Channel::CallId> call;
    on_executor([&] { call = channel_->begin(some_path, nullptr, ear); });
    return call.value();
  }
  bool is_up() {
    bool up = false;
    on_executor([&] { up = channel_->is_up(); });
    return up;
  }
  std::vector<std::string> downs() {
    std::vector<std::string> all;
    on_executor([&] { all = downs_; });
    return all;
  }
  void pass(Duration time) {
    runtime_.settle();  // whoever has something to do before it sits down and waits
    clock_.move_to(clock_.now() + time);
    runtime_.settle();
  }

  base::ManualClock clock_;
  const test::Socket listener_ = test::listen_on_tcp();
  std::vector<std::string> downs_;
  base::RealRuntime runtime_{clock_};
  std::shared_ptr<Channel> channel_;
};

TEST_F(EtcdChannelTest, ACallIsAnswered) {
  Peer peer = connected();
  Asked asked = call("question");
  const std::int32_t id = peer.call();
  EXPECT_EQ(peer.grpc.calls().at(id).bytes, GrpcPeer::framed("question"));
  peer.answer(id, "answer");
  const Channel::Reply reply = take(asked).value();
  EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.bytes, "answer");
}

TEST_F(EtcdChannelTest, WhatIsAskedInOneTurnIsSentInOneWrite) {
  Peer peer = connected();
  runtime_.settle();
  Asked one, two;
  on_executor([&] {
    one = test::begin(runtime_, wrapped(channel_, "one", in(1h)));
    two = test::begin(runtime_, wrapped(channel_, "two", in(1h)));
  });
  const auto whole = [&] {
    std::size_t count = 0;
    for (const auto& [id, call] : peer.grpc.calls()) count += call.ended ? 1 : 0;
    return count;
  };
  while (whole() == 0) peer.hear();
  EXPECT_EQ(whole(), 2U);
}

TEST_F(EtcdChannelTest, AnAnswerWithoutAMessageIsAnError) {
  Peer peer = connected();
  Asked asked = call("question");
  const std::int32_t id = peer.call();
  peer.grpc.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}});
  peer.grpc.trailers(id, {{"grpc-status", "0"}});
  peer.speak();
  EXPECT_EQ(take(asked).value().status.code, StatusCode::internal);
}

TEST_F(EtcdChannelTest, ACallThatIsNotAnsweredInTimeIsCancelled) {
  Peer peer = connected();
  Asked asked = call("question", 1s);
  const std::int32_t id = peer.call();
  pass(1s);
  const Status status = take(asked).value().status;
  EXPECT_EQ(status.code, StatusCode::deadline_exceeded);
  EXPECT_FALSE(status.unprocessed);
  peer.hear_until([&] { return peer.grpc.calls().at(id).reset; });
  EXPECT_TRUE(is_up());
}

TEST_F(EtcdChannelTest, AServerThatSaysNothingIsLeft) {
  std::future<Result<void>> opened = open();
  Peer peer(listener_.accept());
  pass(patience);
  const Result<void> result = take(opened);
  EXPECT_EQ(result.code(), Errc::store_unavailable);
  EXPECT_THAT(result.error().message, HasSubstr("does not answer"));
  EXPECT_TRUE(peer.left());
}

TEST_F(EtcdChannelTest, AServerThatSpeaksSomethingElseIsLeft) {
  std::future<Result<void>> opened = open();
  const test::Socket peer = listener_.accept();
  EXPECT_FALSE(peer.read().empty());
  peer.say("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(take(opened).code(), Errc::store_unavailable);
}

TEST_F(EtcdChannelTest, WhatWasSentWholeMayHaveBeenDoneWhenItBreaks) {
  Peer peer = connected();
  Asked asked = call("question");
  peer.call();
  peer.close();
  const Status status = take(asked).value().status;
  EXPECT_EQ(status.code, StatusCode::unavailable);
  EXPECT_FALSE(status.unprocessed);
  EXPECT_THAT(downs(), SizeIs(1));
  EXPECT_EQ(take(asked = call("late")).value().status.unprocessed, true) << "never sent";
}

// The server takes 64 KiB before it opens the window.
TEST_F(EtcdChannelTest, WhatWasNotSentWholeWasNotDoneWhenItBreaks) {
  Peer peer = connected();
  peer.grpc.take_no_more();
  Asked asked = call(std::string(1 << 20, 'x'));
  peer.hear_until([&] { return !peer.grpc.calls().empty() && peer.grpc.calls().begin()->second.bytes.size() > 65000; });
  peer.close();
  EXPECT_TRUE(take(asked).value().status.unprocessed);
}

TEST_F(EtcdChannelTest, GoAwayEndsNewCallsAndLetsOthersEnd) {
  Peer peer = connected();
  Asked asked = call("question");
  const std::int32_t id = peer.call();
  peer.grpc.go_away(id, NGHTTP2_NO_ERROR, "maintenance");
  peer.speak();
  EXPECT_TRUE(test::eventually([&] { return downs().size() == 1; }));
  EXPECT_THAT(downs().at(0), HasSubstr("maintenance"));
  EXPECT_FALSE(is_up());
  Asked late = call("late");
  EXPECT_TRUE(take(late).value().status.unprocessed);
  peer.answer(id, "answer");
  EXPECT_EQ(take(asked).value().bytes, "answer");
  EXPECT_TRUE(peer.left()) << "with the last call";
}

TEST_F(EtcdChannelTest, ARetiredChannelClosesWithItsLastCall) {
  Peer peer = connected();
  Asked asked = call("question");
  const std::int32_t id = peer.call();
  on_executor([this] { channel_->retire(); });
  EXPECT_FALSE(is_up());
  peer.answer(id, "answer");
  EXPECT_EQ(take(asked).value().bytes, "answer");
  EXPECT_TRUE(peer.left());
  EXPECT_THAT(downs(), SizeIs(0)) << "who retires it knows";
}

TEST_F(EtcdChannelTest, MessagesOfAStreamGoToItsHearer) {
  Peer peer = connected();
  const auto ear = std::make_shared<Ear>();
  const Channel::CallId call = begin(ear);
  on_executor([&] { channel_->send(call, "watch"); });
  peer.hear_until([&] { return peer.grpc.calls().count(call) == 1 && !peer.grpc.calls().at(call).bytes.empty(); });
  EXPECT_EQ(peer.grpc.calls().at(call).headers.at("hasleader"), "true");
  peer.grpc.headers(call, {{":status", "200"}, {"content-type", "application/grpc"}});
  peer.grpc.data(call, GrpcPeer::framed("one") + GrpcPeer::framed("two"));
  peer.grpc.trailers(call, {{"grpc-status", "14"}, {"grpc-message", "etcdserver: no leader"}});
  peer.speak();
  std::optional<Status> end;
  EXPECT_TRUE(test::eventually([&] {
    on_executor([&] { end = ear->end; });
    return end.has_value();
  }));
  EXPECT_THAT(ear->messages, testing::ElementsAre("one", "two"));
  EXPECT_EQ(end->message, "etcdserver: no leader");
}

TEST_F(EtcdChannelTest, APingAsksForLifeWhileSomethingWaits) {
  Peer peer = connected();
  pass(10 * between_pings);
  begin(std::make_shared<Ear>());
  peer.hear_until([&] { return peer.grpc.calls().size() == 1; });
  EXPECT_EQ(peer.grpc.pings(), 0U) << "there was nothing to wait for";
  pass(between_pings);
  peer.hear_until([&] { return peer.grpc.pings() == 1; });
  runtime_.settle();
  pass(5s - 1ms);
  EXPECT_TRUE(is_up());
  EXPECT_EQ(peer.grpc.pings(), 1U) << "servers end connections on which they come more often";
  pass(between_pings);
  peer.hear_until([&] { return peer.grpc.pings() == 2; });
}

TEST_F(EtcdChannelTest, AServerThatDoesNotAnswerAPingIsLeft) {
  Peer peer = connected();
  const auto ear = std::make_shared<Ear>();
  begin(ear);
  peer.hear_until([&] { return peer.grpc.calls().size() == 1; });
  runtime_.settle();
  pass(between_pings);
  pass(patience);
  EXPECT_TRUE(test::eventually([&] { return downs().size() == 1; }));
  EXPECT_THAT(downs().at(0), HasSubstr("does not answer"));
  EXPECT_TRUE(ear->end.has_value());
  EXPECT_TRUE(peer.left());
}

}  // namespace
}  // namespace pawl::store::etcd
