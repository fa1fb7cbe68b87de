#include "tests/process/cli.hpp"

#include <signal.h>

#include <sstream>
#include <string>
#include <vector>

/// `pawl elect` and `pawl leader`.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class CliElect : public CliTest {
 protected:
  Process candidate(const std::string& value, const std::string& script = sleeper) const {
    return start({"elect", "--value", value, "api", "--", "sh", "-c", script});
  }
  /// Has been elected.
  Process leader(const std::string& value) const {
    Process process = candidate(value);
    EXPECT_TRUE(process.says("started")) << process.err();
    return process;
  }
  std::string leading() const { return pawl({"leader", "api"}).out; }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  /// What Python makes of a line of JSON in `d`.
  std::string of_json(const std::string& text, const std::string& expression) const {
    const std::string program = "import json, sys; d = json.loads(sys.argv[1]); print(" + expression + ")";
    return Process({"python3", "-c", program, text}, {"PATH=/usr/bin:/bin", "PYTHONUTF8=1"}, folder_.path()).wait().out;
  }
};

TEST_F(CliElect, ACommandRunsWhileItLeadsAndEverybodyMayAskWhoItIs) {
  const Ended nobody = pawl({"leader", "api"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_EQ(nobody.out, "");
  EXPECT_EQ(nobody.err, "pawl: nobody leads \"api\"\n");

  Process alice = leader("10.0.0.7:8080");
  EXPECT_EQ(leading(), "10.0.0.7:8080\n");
  Process bob = candidate("10.0.0.8:8080");
  ASSERT_TRUE(queued("api", 1));
  EXPECT_EQ(leading(), "10.0.0.7:8080\n");
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
  ASSERT_TRUE(bob.says("started"));
  EXPECT_EQ(leading(), "10.0.0.8:8080\n");
}

TEST_F(CliElect, TheExitCodeIsTheCommandsOwnAndThenNobodyLeads) {
  EXPECT_EQ(candidate("a", "exit 7").wait().code, 7);
  EXPECT_EQ(pawl({"leader", "api"}).code, 1);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliElect, WhenTheLeaderIsKilledWithNineTheNextOneLeads) {
  Process alice = start({"elect", "--value", "alice", "api", "--", "sh", "-c", "echo $PAWL_TOKEN; exec sleep 1000"});
  ASSERT_TRUE(alice.says("\n"));
  const pid_t child = command_of(alice.pid());
  Process bob = start({"elect", "--value", "bob", "api", "--", "sh", "-c", "echo $PAWL_TOKEN; exec sleep 1000"});
  ASSERT_TRUE(queued("api", 1));
  alice.signal(SIGKILL);
  EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
  ASSERT_TRUE(bob.says("\n"));  // long before the lease of 30 s
  EXPECT_EQ(leading(), "bob\n");
  EXPECT_GT(bob.out(), alice.out());
  EXPECT_TRUE(eventually([&] { return !alive(child); }));
}

TEST_F(CliElect, TheCommandIsToldItsElectionValueTokenAndSequencer) {
  const Ended told = candidate("me", "echo \"$PAWL_LOCK|$PAWL_VALUE|$PAWL_TOKEN|$PAWL_SEQUENCER\"").wait();
  EXPECT_THAT(told.out, MatchesRegex("api\\|me\\|[0-9a-f]{32}\\|pawl1\\.[0-9a-f]{16}\\.election\\.exclusive\\.-\\."
                                     "[0-9a-f]{32}\\.api\n"));
}

TEST_F(CliElect, WithoutAValueItIsHostAndPid) {
  Process process = start({"elect", "api", "--", "sh", "-c", "echo $PAWL_VALUE; exec sleep 1000"});
  ASSERT_TRUE(process.says("\n"));
  EXPECT_THAT(leading(), AllOf(EndsWith(":" + std::to_string(process.pid()) + "\n"), process.out()));
}

TEST_F(CliElect, WhoIsAnonymousHasNoValueEither) {
  const std::string anonymous = store() + "?owner=anonymous";
  EXPECT_EQ(pawl({"elect", "--store", anonymous, "api", "--", "sh", "-c", "echo \"[$PAWL_VALUE]\""}).out, "[]\n");
}

TEST_F(CliElect, WhoDoesNotWaitIsToldWhoLeads) {
  const Process alice = leader("alice");
  const Ended bob = pawl({"elect", "--no-wait", "api", "--", "true"});
  EXPECT_EQ(bob.code, 124);
  EXPECT_THAT(bob.err, StartsWith("pawl: \"api\" is led by "));
  EXPECT_EQ(pawl({"elect", "--wait", "10ms", "-E", "42", "api", "--", "true"}).code, 42);
}

TEST_F(CliElect, ASignalEndsACampaign) {
  const Process alice = leader("alice");
  Process bob = candidate("bob");
  ASSERT_TRUE(queued("api", 1));
  bob.signal(SIGTERM);
  const Ended ended = bob.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_EQ(ended.err, "pawl: SIGTERM while waiting for the lead\n");
  EXPECT_THAT(pawl({"show", "api"}).out, HasSubstr("nobody waits"));
}

TEST_F(CliElect, ALeadThatIsTakenAwayEndsTheCommand) {
  Process alice = leader("alice");
  EXPECT_EQ(pawl({"revoke", "--now", "--kind", "election", "api"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_EQ(ended.err,
            "pawl: the lead of \"api\" is lost: it was taken away, as by pawl revoke --now: the command was killed\n");
}

TEST_F(CliElect, AnyBytesAsAValueAreOneLine) {
  const Process alice = leader("a\nb \"c\" \\ \xff\x1b[2J \xc3\xa4");
  EXPECT_EQ(leading(), "a\\nb \"c\" \\\\ \\xff\\x1b[2J \xc3\xa4\n");
  EXPECT_THAT(pawl({"show", "api"}).out, HasSubstr("    value  a\\nb \"c\" \\\\ \\xff\\x1b[2J \xc3\xa4\n"));
  EXPECT_EQ(of_json(pawl({"leader", "--json", "api"}).out, "d['version'], ascii(d['leader']['encoded_value'])"),
            "1 'a%0Ab%20%22c%22%20%5C%20%FF%1B%5B2J%20%C3%A4'\n");
}

TEST_F(CliElect, TheLeaderAsJson) {
  const Ended nobody = pawl({"leader", "--json", "api"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_EQ(of_json(nobody.out, "d['version'], d['name'], d['leader']"), "1 api None\n");
  const Process alice = leader("alice");
  const Ended json = pawl({"leader", "--json", "api"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(of_json(json.out, "d['leader']['value'], len(d['leader']['token']), d['leader']['pid']"),
            "alice 32 " + std::to_string(alice.pid()) + "\n");
}

TEST_F(CliElect, AFollowerSeesEachChangeOnceAndInOrder) {
  Process follower = start({"leader", "--follow", "api"});
  ASSERT_TRUE(follower.says("nobody\n"));
  for (const std::string value : {"one", "two", "nobody"}) EXPECT_EQ(candidate(value, "true").wait().code, 0);
  Process alice = leader("alice");
  const Process bob = candidate("bob");
  ASSERT_TRUE(queued("api", 1));
  ASSERT_TRUE(follower.says("leader alice\n"));
  alice.signal(SIGTERM);
  ASSERT_TRUE(follower.says("leader bob\n"));
  follower.signal(SIGTERM);
  const Ended ended = follower.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(lines_of(ended.out), ElementsAre("nobody", "leader one", "nobody", "leader two", "nobody",
                                               "leader nobody", "nobody", "leader alice", "leader bob"));
}

TEST_F(CliElect, AFollowerBeginsWithHowItIs) {
  const Process alice = leader("alice");
  Process follower = start({"leader", "-f", "--json", "api"});
  ASSERT_TRUE(follower.says("\n"));
  follower.signal(SIGINT);
  const Ended ended = follower.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_EQ(lines_of(ended.out).size(), 1U);
  EXPECT_EQ(of_json(ended.out, "d['version'], d['name'], d['leader']['value']"), "1 api alice\n");
}

TEST_F(CliElect, AFollowerEndsWhenNobodyReadsItAnyMore) {
  Process reader({"bash", "-c", "set -o pipefail; " PAWL_CLI " leader --follow api | head -n 1"},
                 {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}, folder_.path());
  const Ended ended = reader.wait();
  EXPECT_EQ(ended.out, "nobody\n");
  EXPECT_EQ(ended.code, 128 + SIGPIPE);
}

}  // namespace
}  // namespace pawl::test
