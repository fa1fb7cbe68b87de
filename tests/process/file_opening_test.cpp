// Many processes that open one folder at once, on a slow disk, or while one of them is stopped in the middle of it.

#include "tests/process/file_child.hpp"
#include "tests/support/temporary_folder.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace pawl::process {
namespace {

class FileOpening : public testing::Test {
 protected:
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
  int syncs() const {
    std::ifstream log(log_);
    int lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    return lines;
  }
  static Child::Options stopped_at(int step) { return {.environment = {{"PAWL_TEST_STEP", std::to_string(step)}}}; }
  /// What it answers, or "(no answer)" when it was stopped before.
  std::string open_or_stop(Child& child) const {
    child.send("open " + url_);
    std::string opened = "(no answer)";
    while (opened == "(no answer)" && !child.stopped(0ms)) opened = child.answer(5ms);
    return opened;
  }
  std::string error_of_newcomer(Duration timeout) const {
    const Result<Client> client = Client::open(url_, {.timeout = timeout});
    return client ? "" : client.error().to_string();
  }

  static constexpr int enough_steps = 100;
  const test::TemporaryFolder folder_;
  const std::string url_ = "file://" + folder_ / "store";
  const std::string log_ = folder_ / "syncs";
};

// Scenario: if each of them synced, one after the other, they would need a minute.
TEST_F(FileOpening, ManyProcessesOpenAtOnceOnASlowDisk) {
  const Child::Options slow{.environment = {{"PAWL_TEST_SYNC_MS", "500"}}};
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 120; ++i) children.push_back(std::make_unique<Child>(slow));
  for (const auto& child : children) child->send("open " + url_ + " 30s 25s");
  for (const auto& child : children) EXPECT_EQ(child->answer(), "ok");
}

TEST_F(FileOpening, OnlyAFolderThatIsMadeIsSynced) {
  const Child::Options logged{.environment = {{"PAWL_TEST_SYNC_LOG", log_}}};
  Child alice(logged);
  ASSERT_EQ(alice.say("open " + url_), "ok");
  const int made = syncs();
  EXPECT_GE(made, 2) << "the token file, and its name";
  Child bob(logged);
  ASSERT_EQ(bob.say("open " + url_), "ok");
  EXPECT_EQ(syncs(), made) << "one that joins";
  alice.kill();
  bob.kill();
  Child carol(logged);
  ASSERT_EQ(carol.say("open " + url_), "ok");
  EXPECT_EQ(syncs(), made) << "one that finds nobody there";
}

// Scenario: wherever it is when it is stopped.
TEST_F(FileOpening, AProcessStoppedWhileItJoinsOthersHoldsUpNobody) {
  Child alice(url_);
  int step = 1;
  for (; step < enough_steps; ++step) {
    Child bob(stopped_at(step));
    const std::string opened = open_or_stop(bob);
    if (opened != "(no answer)") {
      EXPECT_EQ(opened, "ok");
      break;
    }
    EXPECT_EQ(error_of_newcomer(10s), "") << "stopped at step " << step;
    bob.signal(SIGCONT);
    EXPECT_EQ(bob.answer(), "ok") << "stopped at step " << step;
  }
  EXPECT_GT(step, 5);
  EXPECT_LT(step, enough_steps);
}

// Scenario: nobody else uses the folder, and the one that makes it, or takes it over, is stopped.
TEST_F(FileOpening, AProcessStoppedAloneInTheFolderIsNamedAndCanGoOn) {
  int refused = 0;
  for (int step = 1; step < enough_steps; ++step) {
    Child bob(stopped_at(step));
    if (open_or_stop(bob) != "(no answer)") break;
    const std::string error = error_of_newcomer(50ms);
    if (!error.empty()) {
      ++refused;
      EXPECT_TRUE(has(error, "store_unavailable") && has(error, "kill -CONT " + std::to_string(bob.pid()))) << error;
    }
    bob.signal(SIGCONT);
    EXPECT_EQ(bob.answer(), "ok") << "stopped at step " << step;
    EXPECT_EQ(error_of_newcomer(10s), "") << "stopped at step " << step;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(FileOpening, AFolderWhoseDiskHangsDoesNotHoldUpAnother) {
  Child alice(Child::Options{.environment = {{"PAWL_TEST_SYNC_MS", "15000"}, {"PAWL_TEST_SYNC_OF", "/hanging"}}});
  ASSERT_EQ(alice.say("start-open file://" + folder_ / "hanging"), "ok");
  ASSERT_EQ(alice.say("open " + url_ + " 30s 10s"), "ok");
  EXPECT_EQ(alice.say("opening"), "yes");
}

}  // namespace
}  // namespace pawl::process
