// ZooKeeper numbers the children of a node with 31 bits, and does not start again: what becomes of a lock that has used them.

#include "tests/zookeeper/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

using namespace stage;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A snapshot that a server has written. After some parts of it stands their checksum.
class Snapshot {
 public:
  explicit Snapshot(std::string path) : path_(std::move(path)) {
    std::ifstream in(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  /// How many children that node has ever had: the next one gets this number.
  void set_children_made(const std::string& node, std::int32_t count) {
    const std::vector<std::size_t> seals = find_seals();
    const std::string name = number(static_cast<std::int64_t>(node.size()), 4) + node;
    const std::size_t at = bytes_.find(name);
    if (at == std::string::npos || seals.empty()) throw std::runtime_error(path_ + " has no " + node);
    const std::size_t data = at + name.size();
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes_[data + i]);
    if (size == 0xFFFFFFFF) size = 0;  // none
    constexpr std::size_t access = 8, times = 4 * 8, version = 4;
    bytes_.replace(data + 4 + size + access + times + version, 4, number(count, 4));
    for (const std::size_t seal : seals) bytes_.replace(seal, 8, number(checksum(seal), 8));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes_;
  }

 private:
  struct Sum {
    std::uint32_t low = 1, high = 0;
    void add(char byte) {
      low = (low + static_cast<unsigned char>(byte)) % 65521;
      high = (high + low) % 65521;
    }
    std::int64_t value() const { return static_cast<std::int64_t>(high) << 16 | low; }
  };

  static std::string number(std::int64_t value, std::size_t size) {
    std::string bytes;
    for (std::size_t i = size; i > 0; --i) bytes += static_cast<char>(value >> (8 * (i - 1)));
    return bytes;
  }
  std::int64_t checksum(std::size_t end) const {
    Sum sum;
    for (std::size_t i = 0; i < end; ++i) sum.add(bytes_[i]);
    return sum.value();
  }
  std::vector<std::size_t> find_seals() const {
    const std::string behind = number(1, 4) + "/";
    std::vector<std::size_t> seals;
    Sum sum;
    for (std::size_t i = 0; i + 8 + behind.size() <= bytes_.size(); ++i) {
      if (bytes_.compare(i, 8, number(sum.value(), 8)) == 0 && bytes_.compare(i + 8, behind.size(), behind) == 0) {
        seals.push_back(i);
      }
      sum.add(bytes_[i]);
    }
    return seals;
  }

  const std::string path_;
  std::string bytes_;
};

/// Starts the server again with a folder that has numbered so many nodes.
void wear_out(ZooKeeperServer& server, const std::string& node, std::int32_t count) {
  server.kill();
  server.start();  // writes all that it knows into a snapshot
  server.kill();
  const auto number = [](const std::filesystem::path& path) {
    return std::stoull(path.extension().string().substr(1), nullptr, 16);
  };
  std::optional<std::filesystem::path> newest;
  std::vector<std::filesystem::path> logs;
  for (const auto& file : std::filesystem::directory_iterator(server.folder() + "/data/version-2")) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("log.")) logs.push_back(file.path());
    if (!name.starts_with("snapshot.")) continue;
    if (!newest || number(*newest) < number(file.path())) newest = file.path();
  }
  Snapshot(newest.value().string()).set_children_made(node, count);
  for (const auto& log : logs) std::filesystem::remove(log);
  server.start();
}

constexpr std::int32_t last_number = 2147483647;

TEST(ZooKeeperCounter, ALockWhoseFolderHasUsedUpItsNumbersIsUnavailableUntilTheFolderIsRemoved) {
  ZooKeeperServer server(ZooKeeperOptions{.container_check = 50ms});
  std::string top, folder;
  Token newest{};
  {
    Stage stage("sequential", server);
    top = stage.top;
    folder = stage.folder();
    Client alice = stage.alice();
    stage.eye.make_folder(folder);
    stage.eye.create(folder + "/stays");
    newest = alice.mutex("job").acquire({.wait = hang})->token();
  }
  wear_out(server, folder, last_number - 2);

  const std::string url = server.url("?prefix=" + top + "&lease=6s&timeout=60s");
  Eye eye(server);
  Client alice(url), bob(url), carol(url);
  {
    Result<Hold> last_but_one = alice.mutex("job").acquire({.wait = hang});
    ASSERT_TRUE(last_but_one) << last_but_one.error().to_string();
    EXPECT_GT(last_but_one->token(), newest);
    EXPECT_THAT(eye.children(folder), ElementsAre("lock-2147483645", "stays"));
    auto waits = wait_for(bob.mutex("job"));
    ASSERT_TRUE(eventually([&] { return eye.children(folder).size() == 3; }));
    EXPECT_THAT(eye.children(folder), ElementsAre("lock-2147483645", "lock-2147483646", "stays"));
    const Result<Hold> never = carol.mutex("job").acquire({.wait = 1s});
    EXPECT_THAT(never.code(), AnyOf(Errc::store_unavailable, Errc::timed_out));
    EXPECT_TRUE(eventually([&] { return eye.children(folder).size() == 3; })) << "no such node stays";
    EXPECT_TRUE(last_but_one->valid());
    newest = last_but_one->token();
    EXPECT_TRUE(last_but_one->release());
    const Result<Hold> last = waits.get();
    ASSERT_TRUE(last) << last.error().to_string();
    EXPECT_GT(last->token(), newest);
    newest = last->token();
  }
  ASSERT_TRUE(eventually([&] { return eye.children(folder).size() == 1; }));
  // A try is patient for two timeouts.
  Client dave(server.url("?prefix=" + top + "&lease=6s&timeout=5s"));
  const Result<Hold> refused = dave.mutex("job").try_acquire();
  ASSERT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("counter used up"));
  EXPECT_TRUE(eventually([&] { return eye.children(folder).size() == 1; }));
  EXPECT_EQ(eye.remove(folder + "/stays"), ZOK);
  const Result<Hold> anew = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(anew) << anew.error().to_string();
  EXPECT_GT(anew->token(), newest);
  EXPECT_THAT(eye.children(folder), ElementsAre("lock-0000000000"));
}

// Scenario: a client that does not know better leaves a node with the last number there; whoever comes then has no number.
TEST(ZooKeeperCounter, WhereTheLastNumberIsTakenNobodyIsGranted) {
  ZooKeeperServer server;
  std::string top, folder;
  {
    Stage stage("sequential", server);
    top = stage.top;
    folder = stage.folder();
    stage.eye.make_folder(folder);
    stage.eye.create(folder + "/lock-", ZOO_SEQUENCE);
  }
  wear_out(server, folder, last_number);
  Eye eye(server);
  eye.remove(folder + "/lock-0000000000");
  EXPECT_EQ(eye.create(folder + "/lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE), folder + "/lock-2147483647");
  Client alice(server.url("?prefix=" + top + "&lease=6s"));
  const Result<Hold> refused = alice.mutex("job", {.waiting = WaitStyle::notified}).acquire({.wait = 1s});
  EXPECT_FALSE(refused);
  if (!refused) {
    EXPECT_THAT(refused.code(), AnyOf(Errc::store_unavailable, Errc::timed_out)) << refused.error().to_string();
  }
  EXPECT_THAT(eye.children(folder), ElementsAre("lock-2147483647"));
}

// Scenario: the last number of all is alice's, and the answer that says so gets lost.
TEST(ZooKeeperCounter, TheLastNumberIsNoPlaceWhenItIsFoundAgainEither) {
  ZooKeeperServer server;
  std::string top, folder;
  {
    Stage stage("sequential", server);
    top = stage.top;
    folder = stage.folder();
    stage.eye.make_folder(folder);
    stage.eye.create(folder + "/stays");
  }
  wear_out(server, folder, last_number);
  Tickets tickets;
  Proxy proxy{server.port(), test::zookeeper_framing(tickets.listener())};
  Client alice("zookeeper://" + Stage::address(proxy.port()) + "?prefix=" + top + "&lease=6s");
  const Hold anchor = alice.mutex("anchor").acquire().value();
  proxy.arrange(Fault::lose_reply, [](const std::string&, std::string_view request) {
    return request.find("/job/lock-") != std::string_view::npos;
  });
  const Result<Hold> refused = alice.mutex("job").acquire({.wait = 2s});
  EXPECT_THAT(refused.code(), AnyOf(Errc::store_unavailable, Errc::timed_out));
  EXPECT_EQ(proxy.happened(), 1U);
  Eye eye(server);
  EXPECT_TRUE(eventually([&] { return eye.children(folder).size() == 1; })) << "no such node stays";
}

}  // namespace
}  // namespace pawl
