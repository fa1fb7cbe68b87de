#include "tests/process/cli.hpp"

#include <signal.h>

#include <regex>
#include <string>

/// `--log`: however a run ends, its last line says how.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CliLog : public CliTest {
 protected:
  std::string events() const {
    std::string found;
    const std::string text = read_file(log_);
    const std::regex event("\"event\": \"([a-z_]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), event); at != std::sregex_iterator(); ++at) {
      found += (found.empty() ? "" : " ") + at->str(1);
    }
    return found;
  }
  /// pawl run --log ... with another store.
  Process at(const std::string& store, Words words) const {
    words.insert(words.begin(), {"--store", store, "run", "--log", log_});
    return start_with({"PATH=/usr/bin:/bin"}, words);
  }

  const std::string log_ = folder_ / "log";
};

TEST_F(CliLog, AStoreThatCannotBeOpenedIsARefusal) {
  EXPECT_EQ(at("file:///dev/null/store", {"job", "--", "true"}).wait().code, 125);
  EXPECT_EQ(events(), "asked refused");
  EXPECT_THAT(read_file(log_), HasSubstr("/dev/null"));
}

TEST_F(CliLog, AnotherKindOfLockIsARefusal) {
  const Process alice = holder("job", {"--read"});
  EXPECT_EQ(pawl({"run", "--log", log_, "job", "--", "true"}).code, 125);
  EXPECT_EQ(events(), "asked refused");
  EXPECT_THAT(read_file(log_), HasSubstr("--any-kind"));
}

TEST_F(CliLog, ACommandThatCannotBeginIsReleasedWithItsCode) {
  EXPECT_EQ(pawl({"run", "--log", log_, "job", "--", "/no/such/command"}).code, 127);
  EXPECT_EQ(pawl({"run", "--log", log_, "job", "--", folder_.path()}).code, 126);
  EXPECT_EQ(events(), "asked granted released asked granted released");
  EXPECT_THAT(read_file(log_), AllOf(HasSubstr("\"exit_code\": 127"), HasSubstr("\"exit_code\": 126")));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliLog, ASignalWhileItWaitsIsARefusal) {
  const Process alice = holder("job");
  Process bob = start({"run", "--log", log_, "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  bob.signal(SIGTERM);
  EXPECT_EQ(bob.wait().code, 143);
  EXPECT_EQ(events(), "asked refused");
  EXPECT_THAT(read_file(log_), HasSubstr("\"reason\": \"SIGTERM while waiting for the lock\""));
}

TEST_F(CliLog, TakenAwayTheLastLineSaysWhyAndWithWhichCode) {
  Process alice = holder("job", {"--log", log_});
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(events(), "asked granted lost");
  const std::string why = "is lost: it was taken away, as by pawl revoke --now";
  EXPECT_THAT(ended.err, HasSubstr("the lock \"job\" " + why + ": the command was killed"));
  EXPECT_THAT(read_file(log_), AllOf(HasSubstr("\"exit_code\": 122"), HasSubstr(why + "\"}\n")));
}

TEST_F(CliLog, WhatHasToEndBecauseOfMaxHoldSaysSo) {
  EXPECT_EQ(pawl({"run", "--log", log_, "--max-hold", "1s", "job", "--", "sleep", "1000"}).code, 122);
  EXPECT_EQ(events(), "asked granted lost");
  EXPECT_THAT(read_file(log_), HasSubstr("has been held for as long as --max-hold 1s allows"));
}

}  // namespace
}  // namespace pawl::test
