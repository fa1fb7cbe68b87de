// The real servers that the other tests stand on.

#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <zookeeper/zookeeper.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::ZooKeeperEnsemble;
using test::ZooKeeperOptions;
using test::ZooKeeperServer;
using testing::HasSubstr;

/// A session with one server, driven by hand: nothing happens but in finish() and the calls that end with an answer.
class Session {
 public:
  explicit Session(const ZooKeeperServer& server, std::chrono::milliseconds timeout = 30s) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    handle_ = zookeeper_init(server.address().c_str(), nullptr, static_cast<int>(timeout.count()), nullptr, nullptr, 0);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { zookeeper_close(handle_); }

  struct Write {
    std::optional<int> code = {};
  };

  /// Sends it as soon as the session is driven.
  std::shared_ptr<Write> begin_create(const std::string& path, const std::string& data, int mode = 0) {
    writes_.push_back(std::make_shared<Write>());
    const auto done = [](int code, const char*, const void* write) {
      static_cast<Write*>(const_cast<void*>(write))->code = code;
    };
    EXPECT_EQ(zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), &ZOO_OPEN_ACL_UNSAFE, mode,
                          done, writes_.back().get()),
              ZOK);
    return writes_.back();
  }

  int create(const std::string& path, const std::string& data, int mode = 0) {
    const auto write = begin_create(path, data, mode);
    finish(*write);
    return write->code.value_or(ZOPERATIONTIMEOUT);
  }

  /// What this server knows; nothing when there is no such node.
  std::optional<std::string> get(const std::string& path) {
    struct Read {
      bool done = false;
      std::optional<std::string> data = {};
    };
    const auto read = std::make_shared<Read>();
    kept_.push_back(read);
    const auto done = [](int code, const char* data, int size, const Stat*, const void* out) {
      auto* its = static_cast<Read*>(const_cast<void*>(out));
      if (code == ZOK) its->data = std::string(data, static_cast<std::size_t>(std::max(size, 0)));
      its->done = true;
    };
    EXPECT_EQ(zoo_aget(handle_, path.c_str(), 0, done, read.get()), ZOK);
    EXPECT_TRUE(drive([&] { return read->done; }));
    return read->data;
  }

  bool finish(const Write& write) {
    return drive([&] { return write.code.has_value(); });
  }

  /// Lets it send and receive what it can, without waiting.
  void step() { step(0ms); }

 private:
  template <class Condition>
  bool drive(Condition so) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!so() && std::chrono::steady_clock::now() < end) step(50ms);
    return so();
  }

  void step(std::chrono::milliseconds at_most) {
    int fd = -1, interest = 0;
    timeval wait{};
    if (zookeeper_interest(handle_, &fd, &interest, &wait) != ZOK || fd < 0) {
      ::poll(nullptr, 0, 5);
      return;
    }
    const auto wanted = std::chrono::milliseconds(wait.tv_sec * 1000 + wait.tv_usec / 1000);
    pollfd polled{fd, 0, 0};
    if ((interest & ZOOKEEPER_READ) != 0) polled.events |= POLLIN;
    if ((interest & ZOOKEEPER_WRITE) != 0) polled.events |= POLLOUT;
    ::poll(&polled, 1, static_cast<int>(std::min(wanted, at_most).count()));
    int events = 0;
    if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0) events |= ZOOKEEPER_READ;
    if ((polled.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
    zookeeper_process(handle_, events);
  }

  zhandle_t* handle_ = nullptr;
  std::vector<std::shared_ptr<Write>> writes_;
  std::vector<std::shared_ptr<void>> kept_;
};

/// Elections on a busy machine take their time, and may fail for want of it.
constexpr auto hang = 300s;
/// Followers and leaders that hear nothing from each other stay together for longer than any test takes.
const ZooKeeperOptions patient{.sync_limit = 300s};

std::vector<std::string> modes(const ZooKeeperEnsemble& ensemble) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) all.push_back(ensemble[i].mode());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(ZooKeeperServer, AnswersFourLetterWords) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  EXPECT_EQ(server.four_letter("ruok"), "imok");
  EXPECT_EQ(server.mode(), "standalone");
  EXPECT_THAT(server.four_letter("mntr"), HasSubstr("zk_znode_count"));
  EXPECT_THAT(server.four_letter("conf"), HasSubstr("tickTime=100\n"));
}

TEST(ZooKeeperServer, KeepsItsDataWhenItIsKilled) {
  ZooKeeperServer server;
  ASSERT_EQ(Session(server).create("/kept", "gold"), ZOK);
  server.kill();
  EXPECT_EQ(server.four_letter("ruok"), "");
  server.start();
  EXPECT_EQ(Session(server).get("/kept"), "gold");
}

TEST(ZooKeeperServer, HangsAndGoesOn) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  server.stop();
  EXPECT_EQ(server.four_letter("ruok", 100ms), "");
  server.go_on();
  EXPECT_EQ(server.four_letter("ruok"), "imok");
}

TEST(ZooKeeperServer, TakesMoreConfigurationAndOptionsOfTheJvm) {
  const ZooKeeperServer server(ZooKeeperOptions{.tick = 250ms, .config = {"maxClientCnxns=7"}, .jvm = {"-Dmine=yes"}});
  const std::string config = server.four_letter("conf");
  EXPECT_THAT(config, HasSubstr("tickTime=250\n"));
  EXPECT_THAT(config, HasSubstr("maxClientCnxns=7\n"));
  EXPECT_THAT(config, HasSubstr("maxSessionTimeout=3600000\n"));
}

TEST(ZooKeeperServer, EmptyContainersAreRemovedAsOftenAsWasSaid) {
  const ZooKeeperServer server(
      ZooKeeperOptions{.container_check = 50ms, .jvm = {"-Dznode.container.maxNeverUsedIntervalMs=50"}});
  Session session(server);
  ASSERT_EQ(session.create("/stays", ""), ZOK);
  ASSERT_EQ(session.create("/goes", "", ZOO_CONTAINER), ZOK);
  EXPECT_TRUE(test::eventually([&] { return !session.get("/goes"); }));
  EXPECT_TRUE(session.get("/stays"));
}

TEST(ZooKeeperEnsemble, HasOneLeaderAndTwoFollowers) {
  const ZooKeeperEnsemble& ensemble = ZooKeeperEnsemble::shared();
  const std::vector<std::string> one_leads{"follower", "follower", "leader"};
  EXPECT_TRUE(test::eventually([&] { return modes(ensemble) == one_leads; }, hang));
  EXPECT_EQ(ensemble[ensemble.leader()].mode(), "leader");
  EXPECT_EQ(ensemble[ensemble.follower()].mode(), "follower");
}

TEST(ZooKeeperEnsemble, ElectsAnotherWhenTheLeaderIsKilledAndTakesItBack) {
  ZooKeeperEnsemble ensemble;
  const std::size_t first = ensemble.leader();
  ASSERT_EQ(Session(ensemble[ensemble.follower()]).create("/kept", "gold"), ZOK);
  ensemble.kill(first);
  const std::size_t second = ensemble.leader();
  EXPECT_NE(second, first);
  ASSERT_EQ(Session(ensemble[second]).create("/meanwhile", "silver"), ZOK);
  ensemble.start(first);
  EXPECT_TRUE(test::eventually([&] { return ensemble[first].mode() == "follower"; }, hang));
  Session session(ensemble[first]);
  EXPECT_EQ(session.get("/kept"), "gold");
  EXPECT_EQ(session.get("/meanwhile"), "silver");
}

TEST(ZooKeeperEnsemble, ElectsAnotherWhenTheLeaderHangs) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 5s});
  const std::size_t first = ensemble.leader();
  ensemble.stop(first);
  EXPECT_NE(ensemble.leader(), first);
  ensemble.go_on(first);
  EXPECT_TRUE(test::eventually([&] { return ensemble[first].mode() == "follower"; }, hang));
}

TEST(ZooKeeperEnsemble, ACutFollowerAnswersItsClientsButItsWritesWait) {
  ZooKeeperEnsemble ensemble(patient);
  const std::size_t leader = ensemble.leader(), alone = ensemble.follower();
  Session writer(ensemble[alone], hang), reader(ensemble[alone], hang), elsewhere(ensemble[leader], hang);
  ASSERT_EQ(writer.create("/before", "1"), ZOK);
  ASSERT_EQ(reader.get("/before"), "1");

  ensemble.cut(alone);
  const auto write = writer.begin_create("/through-the-cut", "2");
  writer.step();
  ASSERT_EQ(elsewhere.create("/meanwhile", "3"), ZOK);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ensemble[alone].four_letter("ruok"), "imok");
    EXPECT_EQ(reader.get("/before"), "1");
    EXPECT_EQ(reader.get("/meanwhile"), std::nullopt);
    EXPECT_EQ(elsewhere.get("/through-the-cut"), std::nullopt);
    writer.step();
  }
  EXPECT_EQ(ensemble[alone].mode(), "follower");
  EXPECT_EQ(write->code, std::nullopt);

  ensemble.heal(alone);
  EXPECT_TRUE(writer.finish(*write));
  EXPECT_EQ(write->code, ZOK);
  EXPECT_EQ(writer.get("/meanwhile"), "3");
}

TEST(ZooKeeperEnsemble, ACutFollowerStillSpeaksForASessionThatHasEnded) {
  ZooKeeperEnsemble ensemble(patient);
  const std::size_t leader = ensemble.leader(), alone = ensemble.follower();
  // The holder's session is driven only in its calls: it must outlast everything else that the test does.
  Session holder(ensemble[alone], 15s), elsewhere(ensemble[leader], hang);
  ASSERT_EQ(elsewhere.create("/warm", ""), ZOK);
  ASSERT_EQ(holder.create("/held", "mine", ZOO_EPHEMERAL), ZOK);
  ASSERT_EQ(elsewhere.get("/held"), "mine");
  ensemble.cut(alone);
  EXPECT_TRUE(test::eventually([&] { return holder.get("/held") == "mine" && !elsewhere.get("/held"); }, hang));
  EXPECT_EQ(holder.get("/held"), "mine");
  ensemble.heal(alone);
}

TEST(ZooKeeperEnsemble, TheOthersElectALeaderWhenTheirsIsCutOff) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 5s});
  const std::size_t first = ensemble.leader();
  ensemble.cut(first);
  EXPECT_NE(ensemble.leader(), first);
  EXPECT_TRUE(test::eventually([&] { return ensemble[first].mode().empty(); }, hang));
  // On a busy machine they may have to elect once more.
  EXPECT_TRUE(test::eventually(
      [&] {
        const int code = Session(ensemble[ensemble.leader()]).create("/meanwhile", "1");
        return code == ZOK || code == ZNODEEXISTS;
      },
      hang));
  ensemble.heal(first);
  EXPECT_TRUE(test::eventually([&] { return ensemble[first].mode() == "follower"; }, hang));
  EXPECT_TRUE(test::eventually([&] { return Session(ensemble[first]).get("/meanwhile") == "1"; }, hang));
}

}  // namespace
}  // namespace pawl
