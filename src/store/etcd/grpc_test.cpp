#include "store/etcd/grpc.hpp"

#include "tests/support/grpc_peer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::etcd {
namespace {

using test::GrpcPeer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using What = Grpc::Event::What;
using Last = Grpc::Last;

constexpr std::string_view path = "/etcdserverpb.KV/Txn";

/// A client and a server whose bytes go to and fro until neither has more to say.
class EtcdGrpcTest : public testing::Test {
 protected:
  explicit EtcdGrpcTest(GrpcPeer::Settings settings = {}) : server_(settings) { exchange(); }

  /// `cut`: in parts of so many bytes.
  void exchange(std::size_t cut = 0) {
    for (bool spoke = true; spoke;) {
      std::string asked;
      client_.write_to(asked);
      server_.feed(asked);
      const std::string answered = server_.take();
      for (std::string_view rest = answered; !rest.empty() && lives_;) {
        const std::string_view part = rest.substr(0, cut == 0 ? rest.size() : cut);
        lives_ = client_.feed(part);
        rest.remove_prefix(part.size());
      }
      spoke = !asked.empty() || !answered.empty();
    }
  }
  Grpc::CallId call(std::string_view message, Last last = Last::yes) {
    const Grpc::CallId id = client_.open(path, {}).value();
    client_.send(id, message, last);
    exchange();
    return id;
  }
  /// Those of calls.
  std::vector<Grpc::Event> events() {
    std::vector<Grpc::Event> all = client_.take_events();
    std::erase_if(all, [](const Grpc::Event& event) { return event.what == What::settings; });
    return all;
  }
  /// The one event that there is: the end of a call.
  Status end() {
    const std::vector<Grpc::Event> all = events();
    EXPECT_THAT(all, SizeIs(1));
    if (all.size() != 1) return {StatusCode::unknown, "none"};
    EXPECT_EQ(all[0].what, What::finished);
    return all[0].status;
  }

  Grpc client_{{.authority = "db1:2379", .largest_message = 4 << 20}};
  GrpcPeer server_;
  bool lives_ = true;
};

class EtcdGrpcNarrowTest : public EtcdGrpcTest {
 protected:
  EtcdGrpcNarrowTest() : EtcdGrpcTest({.most_calls = 1, .window = 1000}) {}
};

TEST_F(EtcdGrpcTest, ACallHasTheHeadersOfGrpc) {
  const Grpc::CallId id = client_.open(path, {.token = "t0ken", .has_leader = true}).value();
  client_.send(id, "question", Last::yes);
  exchange();
  const GrpcPeer::Call& call = server_.calls().at(id);
  EXPECT_EQ(call.headers.at(":method"), "POST");
  EXPECT_EQ(call.headers.at(":scheme"), "http");
  EXPECT_EQ(call.headers.at(":path"), path);
  EXPECT_EQ(call.headers.at(":authority"), "db1:2379");
  EXPECT_EQ(call.headers.at("content-type"), "application/grpc");
  EXPECT_EQ(call.headers.at("te"), "trailers");
  EXPECT_EQ(call.headers.at("token"), "t0ken");
  EXPECT_EQ(call.headers.at("hasleader"), "true");
  EXPECT_EQ(call.bytes, GrpcPeer::framed("question"));
  EXPECT_TRUE(call.ended);
}

TEST_F(EtcdGrpcTest, ACallWithoutATokenSaysNothingOfOne) {
  const GrpcPeer::Call& call = server_.calls().at(this->call("question"));
  EXPECT_EQ(call.headers.count("token"), 0U);
  EXPECT_EQ(call.headers.count("hasleader"), 0U);
}

TEST_F(EtcdGrpcTest, TheServersFirstFrameIsTold) {
  Grpc fresh{Grpc::Settings()};
  GrpcPeer server;
  std::string asked;
  fresh.write_to(asked);
  server.feed(asked);
  EXPECT_TRUE(fresh.feed(server.take()));
  const std::vector<Grpc::Event> told = fresh.take_events();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what, What::settings);
}

TEST_F(EtcdGrpcTest, AnAnswerIsAMessageAndAStatus) {
  const Grpc::CallId id = call("question");
  server_.answer(id, "answer");
  exchange();
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].what, What::message);
  EXPECT_EQ(told[0].call, id);
  EXPECT_EQ(told[0].bytes, "answer");
  EXPECT_EQ(told[1].what, What::finished);
  EXPECT_TRUE(told[1].status.ok());
  EXPECT_EQ(client_.open_calls(), 0U);
}

TEST_F(EtcdGrpcTest, BytesMayBeCutAnywhere) {
  const Grpc::CallId id = call("question");
  server_.answer(id, "answer");
  exchange(1);
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].bytes, "answer");
  EXPECT_TRUE(told[1].status.ok());
}

TEST_F(EtcdGrpcTest, AStreamHasManyMessagesEachWay) {
  const Grpc::CallId id = call("one", Last::no);
  client_.send(id, "two", Last::no);
  client_.send(id, "", Last::no);
  exchange();
  EXPECT_EQ(server_.calls().at(id).bytes, GrpcPeer::framed("one") + GrpcPeer::framed("two") + GrpcPeer::framed(""));
  EXPECT_FALSE(server_.calls().at(id).ended);
  server_.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}});
  server_.data(id, GrpcPeer::framed("first") + GrpcPeer::framed("") + GrpcPeer::framed("third").substr(0, 3));
  exchange();
  std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].bytes, "first");
  EXPECT_EQ(told[1].bytes, "");
  server_.data(id, GrpcPeer::framed("third").substr(3));
  exchange();
  told = events();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].bytes, "third");
  client_.send(id, "three", Last::yes);
  exchange();
  EXPECT_TRUE(server_.calls().at(id).ended);
}

// Flow control: larger than the 64 KiB that a connection begins with, and than the window that we give.
TEST_F(EtcdGrpcTest, LargeMessagesGoBothWays) {
  const std::string large(3 << 20, 'x');
  const Grpc::CallId id = call(large);
  EXPECT_EQ(server_.calls().at(id).bytes.size(), large.size() + 5);
  server_.answer(id, large);
  exchange();
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].bytes, large);
}

TEST_F(EtcdGrpcTest, ManyLargeAnswersDoNotUseUpTheConnectionsWindow) {
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    server_.answer(call("question"), large);
    exchange();
    const std::vector<Grpc::Event> told = events();
    ASSERT_THAT(told, SizeIs(2)) << i;
  }
}

TEST_F(EtcdGrpcTest, WhatTheServerDoesNotTakeIsNotWhole) {
  server_.take_no_more();
  const std::string large(1 << 20, 'x');
  const Grpc::CallId stuck = call(large);
  EXPECT_EQ(client_.whole_at(stuck), std::nullopt);
  EXPECT_LT(server_.calls().at(stuck).bytes.size(), large.size());
}

TEST_F(EtcdGrpcTest, ACallIsWholeWithItsLastByte) {
  const Grpc::CallId id = client_.open(path, {}).value();
  client_.send(id, "question", Last::yes);
  EXPECT_EQ(client_.whole_at(id), std::nullopt) << "nothing was written";
  std::string bytes;
  client_.write_to(bytes);
  ASSERT_TRUE(client_.whole_at(id));
  EXPECT_EQ(*client_.whole_at(id), client_.written()) << "it is the last that was written";
  server_.feed(bytes.substr(0, bytes.size() - 1));
  EXPECT_FALSE(server_.calls().at(id).ended);
  server_.feed(bytes.substr(bytes.size() - 1));
  EXPECT_TRUE(server_.calls().at(id).ended);
}

TEST_F(EtcdGrpcNarrowTest, CallsWaitForTheServersLimit) {
  const Grpc::CallId one = call("one"), two = call("two");
  EXPECT_EQ(server_.calls().count(two), 0U);
  EXPECT_EQ(client_.whole_at(two), std::nullopt);
  server_.answer(one, "done");
  exchange();
  EXPECT_EQ(server_.calls().at(two).bytes, GrpcPeer::framed("two"));
}

TEST_F(EtcdGrpcNarrowTest, ACallThatWaitsForTheLimitCanBeCancelled) {
  const Grpc::CallId one = call("one"), two = call("two"), three = call("three");
  client_.cancel(two);
  server_.answer(one, "done");
  exchange();
  EXPECT_EQ(server_.calls().count(two), 0U);
  EXPECT_EQ(server_.calls().at(three).bytes, GrpcPeer::framed("three"));
}

TEST_F(EtcdGrpcTest, TrailersAloneAreAStatus) {
  server_.answer(call("question"), "", 14, "etcdserver: no leader%21");
  exchange();
  const Status status = end();
  EXPECT_EQ(status.code, StatusCode::unavailable);
  EXPECT_EQ(status.message, "etcdserver: no leader!");
  EXPECT_FALSE(status.unprocessed);
}

TEST_F(EtcdGrpcTest, TheServerMayEndAStreamFirst) {
  const Grpc::CallId id = call("one", Last::no);
  server_.answer(id, "", 14, "etcdserver: no leader");
  exchange();
  EXPECT_EQ(end().code, StatusCode::unavailable);
  EXPECT_TRUE(server_.calls().at(id).reset) << "so that both sides forget it";
  client_.send(id, "two", Last::no);
  exchange();
  EXPECT_EQ(server_.calls().at(id).bytes, GrpcPeer::framed("one"));
}

TEST_F(EtcdGrpcTest, AStatusBehindAMessageCounts) {
  server_.answer(call("question"), "answer", 9, "too late");
  exchange();
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[1].status.code, StatusCode::failed_precondition);
}

TEST_F(EtcdGrpcTest, AnAnswerOfHttpIsAnError) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "503"}, {"content-type", "text/html"}});
  server_.data(id, "<html>come back later</html>");
  server_.trailers(id, {{"x", "y"}});
  exchange();
  const Status status = end();
  EXPECT_EQ(status.code, StatusCode::unavailable);
  EXPECT_THAT(status.message, HasSubstr("503"));
}

TEST_F(EtcdGrpcTest, APageThatIsNotOfGrpcIsAnError) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "200"}, {"content-type", "text/html"}}, true);
  exchange();
  EXPECT_EQ(end().code, StatusCode::unknown);
}

TEST_F(EtcdGrpcTest, AStreamWithoutAStatusIsAnError) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}}, true);
  exchange();
  const Status status = end();
  EXPECT_EQ(status.code, StatusCode::unknown);
  EXPECT_EQ(status.message, "the stream ended without a status");
}

TEST_F(EtcdGrpcTest, ACompressedMessageIsRefused) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}});
  server_.data(id, GrpcPeer::framed("packed", 1));
  exchange();
  const Status status = end();
  EXPECT_EQ(status.code, StatusCode::internal);
  EXPECT_THAT(status.message, HasSubstr("compressed"));
  EXPECT_TRUE(server_.calls().at(id).reset);
}

TEST_F(EtcdGrpcTest, AMessageThatIsTooLargeIsRefusedByItsLength) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}});
  server_.data(id, std::string_view("\0\x7f\xff\xff\xff", 5));
  exchange();
  EXPECT_EQ(end().code, StatusCode::resource_exhausted);
  EXPECT_TRUE(server_.calls().at(id).reset);
  EXPECT_TRUE(lives_) << "other calls go on";
}

TEST_F(EtcdGrpcTest, AResetEndsTheCall) {
  server_.reset(call("question"), NGHTTP2_INTERNAL_ERROR);
  exchange();
  const Status status = end();
  EXPECT_EQ(status.code, StatusCode::internal);
  EXPECT_FALSE(status.unprocessed);
}

TEST_F(EtcdGrpcTest, ARefusedStreamWasNotBegun) {
  server_.reset(call("question"), NGHTTP2_REFUSED_STREAM);
  exchange();
  EXPECT_TRUE(end().unprocessed);
}

TEST_F(EtcdGrpcTest, WhatWasAnsweredWasBegunWhateverTheServerSaysThen) {
  const Grpc::CallId id = call("question");
  server_.headers(id, {{":status", "200"}, {"content-type", "application/grpc"}});
  exchange();
  server_.reset(id, NGHTTP2_REFUSED_STREAM);
  exchange();
  EXPECT_FALSE(end().unprocessed);
}

TEST_F(EtcdGrpcTest, ACancelledCallIsForgotten) {
  const Grpc::CallId id = call("question");
  client_.cancel(id);
  exchange();
  EXPECT_TRUE(server_.calls().at(id).reset);
  EXPECT_EQ(server_.calls().at(id).reset_code, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  server_.answer(id, "late");
  exchange();
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(client_.open_calls(), 0U);
}

TEST_F(EtcdGrpcTest, APingIsAnswered) {
  client_.ping();
  exchange();
  EXPECT_EQ(server_.pings(), 1U);
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what, What::pong);
}

TEST_F(EtcdGrpcTest, GoAwayEndsWhatTheServerHasNotBegunWith) {
  const Grpc::CallId begun = call("begun"), late = call("late");
  server_.go_away(begun, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
  exchange();
  EXPECT_FALSE(client_.ready());
  EXPECT_EQ(client_.open(path, {}), std::nullopt);
  const std::vector<Grpc::Event> told = events();
  ASSERT_THAT(told, SizeIs(2));
  const auto& [one, other] =
      std::minmax(told[0], told[1], [](const auto& a, const auto& b) { return a.what < b.what; });
  EXPECT_EQ(one.what, What::finished);
  EXPECT_EQ(one.call, late);
  EXPECT_TRUE(one.status.unprocessed);
  EXPECT_EQ(other.what, What::going_away);
  EXPECT_THAT(other.status.message, HasSubstr("too_many_pings"));
  server_.answer(begun, "done");
  exchange();
  EXPECT_THAT(events(), SizeIs(2)) << "what it has begun with goes on";
  EXPECT_TRUE(lives_);
}

TEST_F(EtcdGrpcTest, AServerThatBreaksTheRulesIsLeft) {
  call("question");
  const std::string on_stream_zero("\0\0\1\0\0\0\0\0\0x", 10);  // DATA that belongs to no call
  EXPECT_FALSE(client_.feed(on_stream_zero));
  EXPECT_FALSE(client_.why().empty());
  EXPECT_FALSE(client_.ready());
  EXPECT_EQ(client_.open(path, {}), std::nullopt);
  EXPECT_FALSE(client_.feed("more"));
  std::string said;
  client_.write_to(said);
  server_.feed(said);
  EXPECT_TRUE(server_.left()) << "it is told why";
}

TEST_F(EtcdGrpcTest, AServerThatSpeaksSomethingElseIsLeft) {
  Grpc client{Grpc::Settings()};
  EXPECT_FALSE(client.feed("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n"));
  EXPECT_FALSE(client.why().empty());
}

}  // namespace
}  // namespace pawl::store::etcd
