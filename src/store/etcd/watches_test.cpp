#include "store/etcd/watches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace pawl::store::etcd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EtcdWatchesTest : public testing::Test {
 protected:
  Watches::Id add(const std::string& key) {
    return watches_.add(key, "", [this, key](const Heard& heard) {
      const char* what = heard.what == Heard::What::missed ? "missed" : "deleted";
      heard_.push_back(key + " " + (heard.what == Heard::What::put ? "put" : what));
      if (and_then_) and_then_();
    });
  }
  /// Everything that is to be said now: "create a", "cancel 7".
  std::vector<std::string> said() {
    std::vector<std::string> all;
    while (const auto request = watches_.next()) {
      if (request->has_create_request()) {
        asked_.push_back(request->create_request().watch_id());
        EXPECT_TRUE(request->create_request().prev_kv());
        EXPECT_EQ(request->create_request().start_revision(), 0);
        all.push_back("create " + request->create_request().key());
      } else {
        all.push_back("cancel " + std::to_string(request->cancel_request().watch_id()));
      }
    }
    return all;
  }
  /// The oldest question is answered, with the id that was asked for.
  Watches::Taken made(std::int64_t revision, std::optional<std::int64_t> id = {}) {
    pb::WatchResponse response;
    response.mutable_header()->set_revision(revision);
    response.set_created(true);
    response.set_watch_id(id.value_or(asked_.front()));
    asked_.erase(asked_.begin());
    return watches_.take(response);
  }
  Watches::Taken refused() {
    pb::WatchResponse response;
    response.set_created(true);
    response.set_canceled(true);
    response.set_watch_id(-1);
    response.set_cancel_reason("etcdserver: permission denied");
    asked_.erase(asked_.begin());
    return watches_.take(response);
  }
  void event(std::int64_t id, pb::Event::Type type = pb::Event::PUT) {
    pb::WatchResponse response;
    response.set_watch_id(id);
    response.add_events()->set_type(type);
    watches_.take(response);
  }
  void canceled(std::int64_t id) {
    pb::WatchResponse response;
    response.set_watch_id(id);
    response.set_canceled(true);
    response.set_compact_revision(9);
    watches_.take(response);
  }
  /// On a stream whose server takes our ids.
  std::int64_t watching(const std::string& key, std::int64_t revision) {
    add(key);
    said();
    const std::int64_t id = asked_.front();
    made(revision);
    return id;
  }

  Watches watches_;
  std::vector<std::string> heard_;
  std::vector<std::int64_t> asked_;
  std::function<void()> and_then_;
};

TEST_F(EtcdWatchesTest, AWatchIsMadeAndTellsFromWhere) {
  const Watches::Id id = add("a");
  EXPECT_EQ(watches_.made_from(id).value(), std::nullopt);
  EXPECT_THAT(said(), ElementsAre("create a"));
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_EQ(watches_.made_from(id).value(), std::nullopt);
  const Watches::Taken taken = made(7);
  EXPECT_THAT(taken.settled, ElementsAre(id));
  EXPECT_EQ(watches_.made_from(id).value(), 7);
  EXPECT_THAT(heard_, IsEmpty()) << "nothing was missed";
}

TEST_F(EtcdWatchesTest, AServerThatTakesOurIdsIsAskedForManyAtOnce) {
  add("a");
  add("b");
  add("c");
  EXPECT_THAT(said(), ElementsAre("create a")) << "what it does with ids shows with the first";
  made(1);
  EXPECT_THAT(said(), ElementsAre("create b", "create c"));
}

TEST_F(EtcdWatchesTest, AServerThatChoosesIdsIsAskedOneByOne) {
  add("a");
  add("b");
  said();
  made(1, 0);
  EXPECT_THAT(said(), ElementsAre("create b"));
  add("c");
  EXPECT_THAT(said(), IsEmpty());
  made(2, 1);
  EXPECT_THAT(said(), ElementsAre("create c"));
  event(0);
  event(1);
  EXPECT_THAT(heard_, ElementsAre("a put", "b put"));
}

TEST_F(EtcdWatchesTest, EventsGoToTheirWatch) {
  const std::int64_t a = watching("a", 1), b = watching("b", 2);
  event(b);
  event(a, pb::Event::DELETE);
  event(77);
  EXPECT_THAT(heard_, ElementsAre("b put", "a deleted"));
}

TEST_F(EtcdWatchesTest, AnEventTellsTheValueBefore) {
  Heard heard;
  watches_.add("a", "", [&](const Heard& what) { heard = what; });
  said();
  made(1);
  pb::WatchResponse response;
  response.set_watch_id((std::int64_t{1} << 40) + 1);
  pb::Event& event = *response.add_events();
  event.set_type(pb::Event::DELETE);
  event.mutable_kv()->set_key("a");
  event.mutable_kv()->set_mod_revision(9);
  event.mutable_prev_kv()->set_value("held");
  event.mutable_prev_kv()->set_create_revision(4);
  watches_.take(response);
  EXPECT_EQ(heard.what, Heard::What::deleted);
  EXPECT_EQ(heard.key, "a");
  EXPECT_EQ(heard.before, "held");
  EXPECT_EQ(heard.create_revision, 4);
  EXPECT_EQ(heard.mod_revision, 9);
}

TEST_F(EtcdWatchesTest, RemovedInEachStateIsCancelledWhereTheServerKnowsIt) {
  const Watches::Id wanted = add("a");
  watches_.remove(wanted);
  EXPECT_THAT(said(), IsEmpty());
  const Watches::Id asked = add("b");
  EXPECT_THAT(said(), ElementsAre("create b"));
  watches_.remove(asked);
  EXPECT_THAT(said(), IsEmpty());
  made(1, 5);
  EXPECT_THAT(said(), ElementsAre("cancel 5"));
  const Watches::Id there = add("c");
  said();
  made(2, 6);
  watches_.remove(there);
  EXPECT_THAT(said(), ElementsAre("cancel 6"));
  event(6);
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_TRUE(watches_.empty());
  EXPECT_EQ(watches_.made_from(there).code(), Errc::cancelled);
}

TEST_F(EtcdWatchesTest, ANewStreamMakesAllOfThemAgainAndTellsWhatWasMissed) {
  watching("a", 1);
  const Watches::Id b = add("b");
  said();
  watches_.begin();
  asked_.clear();
  EXPECT_EQ(watches_.made_from(b).value(), std::nullopt);
  EXPECT_THAT(said(), ElementsAre("create a"));
  made(5);
  EXPECT_THAT(heard_, ElementsAre("a missed"));
  EXPECT_THAT(said(), ElementsAre("create b"));
  made(6);
  EXPECT_THAT(heard_, ElementsAre("a missed")) << "b was never made before";
  EXPECT_EQ(watches_.made_from(b).value(), 6);
}

TEST_F(EtcdWatchesTest, ACompactedWatchIsMadeAgain) {
  const std::int64_t a = watching("a", 1);
  canceled(a);
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_THAT(said(), ElementsAre("create a"));
  EXPECT_NE(asked_.front(), a) << "etcd 3.4 refuses the id of a watch that it has ended";
  made(10);
  EXPECT_THAT(heard_, ElementsAre("a missed"));
}

TEST_F(EtcdWatchesTest, ARefusedWatchIsDoubtedOnce) {
  const Watches::Id a = add("a");
  said();
  Watches::Taken taken = refused();
  EXPECT_TRUE(taken.doubted);
  EXPECT_THAT(taken.settled, IsEmpty());
  EXPECT_EQ(watches_.made_from(a).value(), std::nullopt);
  watches_.begin();
  said();
  taken = refused();
  EXPECT_FALSE(taken.doubted);
  EXPECT_THAT(taken.settled, ElementsAre(a));
  EXPECT_EQ(watches_.made_from(a).code(), Errc::permission_denied);
  EXPECT_THAT(watches_.made_from(a).error().message, testing::HasSubstr("permission denied"));
  watches_.begin();
  said();
  made(3);
  EXPECT_EQ(watches_.made_from(a).value(), 3) << "rights may come back";
}

TEST_F(EtcdWatchesTest, DoubtsEndWithoutANewToken) {
  const Watches::Id a = add("a");
  said();
  refused();
  EXPECT_THAT(watches_.refuse_doubted(), ElementsAre(a));
  EXPECT_EQ(watches_.made_from(a).code(), Errc::permission_denied);
}

TEST_F(EtcdWatchesTest, AnAnswerThatNobodyAskedForIsPassedOver) {
  pb::WatchResponse response;
  response.set_created(true);
  EXPECT_THAT(watches_.take(response).settled, IsEmpty());
}

TEST_F(EtcdWatchesTest, WhoHearsMayWatchAndUnwatch) {
  const std::int64_t server_id = watching("a", 1);
  and_then_ = [this] {
    watches_.remove(1);
    and_then_ = nullptr;
    add("b");
  };
  pb::WatchResponse response;
  response.set_watch_id(server_id);
  response.add_events();
  response.add_events();
  response.set_canceled(true);
  watches_.take(response);
  EXPECT_EQ(heard_.size(), 1U) << "it was ended with the first event";
  EXPECT_THAT(said(), ElementsAre("cancel " + std::to_string(server_id), "create b"));
}

// A string of protobuf would not be read, and the library would say so on the user's stderr.
TEST_F(EtcdWatchesTest, AReasonMayBeAnyBytes) {
  add("a");
  said();
  pb::WatchResponse response;
  ASSERT_TRUE(response.ParseFromString("\x18\x01\x20\x01\x32\x02\xff\xfe"));
  EXPECT_TRUE(response.canceled());
  EXPECT_EQ(response.cancel_reason(), "\xff\xfe");
  EXPECT_TRUE(watches_.take(response).doubted);
}

}  // namespace
}  // namespace pawl::store::etcd
