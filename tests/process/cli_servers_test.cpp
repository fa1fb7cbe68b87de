#include "tests/process/cli_servers.hpp"

#include <signal.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {

Process CliOnServer::holder(const std::string& name, Words options) const {
  options.insert(options.begin(), {"run"});
  options.insert(options.end(), {name, "--", "sh", "-c", sleeper});
  Process process = start(std::move(options));
  EXPECT_TRUE(process.says("started")) << process.err();
  return process;
}

bool CliOnServer::queued(const std::string& name, Words options) const {
  options.insert(options.begin(), "show");
  options.push_back(name);
  return eventually([&] { return pawl(options).out.find("1 waiting\n") != std::string::npos; });
}

bool CliOnServer::nothing_left() const {
  return eventually([&] { return pawl({"ls"}).out.empty(); });
}

ServedStore served_folder() {
  return {"file", {"queue"}, {"queue"}, [] {
            const auto folder = std::make_shared<TemporaryFolder>();
            return Served{folder, "file://" + (*folder / "store")};
          }};
}

int CliOnServer::try_run(Words options) const {
  options.insert(options.begin(), {"run", "--no-wait"});
  options.insert(options.end(), {"--", "true"});
  return pawl(std::move(options)).code;
}

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

#if !defined(PAWL_STORE_REDIS) && !defined(PAWL_STORE_ZOOKEEPER) && !defined(PAWL_STORE_ETCD)
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CliServers);
#endif

TEST_P(CliServers, TheSchemesAreListedTheDefaultFirst) {
  // How wide the columns are depends on which stores there are.
  const std::string table = std::regex_replace(pawl({"schemes"}).out, std::regex(" +"), " ");
  const std::string all = pawl({"schemes", "--json"}).out;
  const std::string& store = GetParam().name;
  const std::size_t first = table.find("\n" + store + " " + schemes().front() + " ");
  for (const std::string& scheme : schemes()) {
    const std::size_t row = table.find("\n" + store + " " + scheme + " ");
    EXPECT_NE(row, std::string::npos) << table;
    EXPECT_LE(first, row) << table;
    EXPECT_THAT(table, HasSubstr("\n " + store + "/" + scheme + ": "));
    EXPECT_THAT(all, HasSubstr("\"store\": \"" + store + "\", \"scheme\": \"" + scheme + "\""));
  }
}

TEST_P(CliServers, ACommandRunsAloneWhereverTheStoreIsNamed) {
  const Process alice = holder("job");
  const Ended before = at(url(), {"run", "--no-wait", "job", "--", "true"});
  EXPECT_EQ(before.code, 124);
  EXPECT_THAT(before.err, AllOf(StartsWith("pawl: \"job\" is held by "), HasSubstr(std::to_string(alice.pid()))));
  EXPECT_EQ(start_with({path}, {"run", "--store", url(), "--no-wait", "job", "--", "true"}).wait().code, 124);
  EXPECT_EQ(try_run({"job"}), 124);
  EXPECT_EQ(try_run({"other"}), 0);
}

TEST_P(CliServers, TheNextOneRunsWhenTheCommandEnds) {
  for (const std::string& scheme : GetParam().shows_waiters) {
    Process alice = holder("job", {"--scheme", scheme});
    Process bob = start({"run", "--scheme", scheme, "job", "--", "sh", "-c", "echo mine; exit 7"});
    ASSERT_TRUE(queued("job", {"--scheme", scheme})) << scheme;
    EXPECT_EQ(bob.out(), "");
    alice.signal(SIGTERM);
    EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
    const Ended ended = bob.wait();
    EXPECT_EQ(ended.code, 7);
    EXPECT_EQ(ended.out, "mine\n");
    EXPECT_EQ(pawl({"ls", "--scheme", scheme}).out, "");
  }
}

TEST_P(CliServers, ACommandWhosePawlIsKilledDiesAndItsLockIsFree) {
  Process alice = holder("job", {"--lease", "5s"});
  const pid_t command = command_of(alice.pid());
  ASSERT_TRUE(alive(command));
  alice.signal(SIGKILL);
  alice.wait();
  EXPECT_TRUE(eventually([&] { return !alive(command); }));
  EXPECT_EQ(pawl({"run", "--wait", "60s", "job", "--", "true"}).code, 0);
}

TEST_P(CliServers, ShowAndLsTellWhoHoldsItAndWhoWaits) {
  for (const std::string& scheme : GetParam().shows_waiters) {
    const Process alice = holder("job", {"--scheme", scheme, "--label", "alice's work"});
    const Process bob = start({"run", "--scheme", scheme, "--label", "bob", "job", "--", "true"});
    ASSERT_TRUE(queued("job", {"--scheme", scheme}));
    const std::string view = pawl({"show", "--scheme", scheme, "job"}).out;
    EXPECT_THAT(view, AllOf(StartsWith("\"job\" (mutex, scheme " + scheme + ")\n  held for "),
                            HasSubstr(", pid " + std::to_string(alice.pid()) + ": alice's work\n"),
                            HasSubstr("  1 waiting\n"), HasSubstr("pid " + std::to_string(bob.pid()) + ": bob")));
    const std::string list = pawl({"ls", "--scheme", scheme}).out;
    EXPECT_THAT(list, AllOf(HasSubstr("\njob   mutex  1        1 "), EndsWith(": alice's work\n")));
    EXPECT_NE(pawl({"ls", "--scheme", scheme, "jo"}).out, "");
    EXPECT_EQ(pawl({"ls", "--scheme", scheme, "x"}).out, "");
  }
}

TEST_P(CliServers, RevokeAsksTheHolderAndNowTakesTheLockAway) {
  for (const std::string& scheme : schemes()) {
    Process alice = holder("job", {"--scheme", scheme});
    EXPECT_EQ(pawl({"revoke", "--scheme", scheme, "job"}).code, 0);
    const Ended asked = alice.wait();
    EXPECT_EQ(asked.code, 128 + SIGTERM) << scheme;
    EXPECT_EQ(asked.err, "pawl: somebody asks for the lock \"job\" (pawl revoke): sent TERM to the command\n");

    Process bob = holder("job", {"--scheme", scheme});
    EXPECT_EQ(pawl({"revoke", "--now", "--scheme", scheme, "job"}).code, 0);
    const Ended taken = bob.wait();
    EXPECT_EQ(taken.code, 122) << scheme;
    EXPECT_EQ(taken.err,
              "pawl: the lock \"job\" is lost: it was taken away, as by pawl revoke --now: the command was killed\n");
    EXPECT_EQ(pawl({"revoke", "--scheme", scheme, "job"}).code, 1) << "nothing to revoke";
  }
}

TEST_P(CliServers, CheckTellsWhetherAGrantStands) {
  for (const std::string& scheme : schemes()) {
    const Ended inside =
        pawl({"run", "--scheme", scheme, "job", "--", "sh", "-c",
              "echo $PAWL_SEQUENCER; exec " PAWL_CLI " check --scheme " + scheme + " $PAWL_SEQUENCER >&2"});
    EXPECT_EQ(inside.code, 0) << inside.err;
    const std::string sequencer = inside.out.substr(0, inside.out.find('\n'));
    EXPECT_THAT(sequencer, MatchesRegex("pawl1\\.[0-9a-f]+\\.mutex\\.exclusive\\.-\\.[0-9a-f]+\\.job"));
    EXPECT_EQ(pawl({"check", "--scheme", scheme, sequencer}).code, 1) << scheme;
  }
}

TEST_P(CliServers, ReadersHoldTogetherAndAWriterAlone) {
  Process reader = holder("job", {"--read"});
  EXPECT_EQ(try_run({"--read", "job"}), 0);
  EXPECT_EQ(try_run({"--write", "job"}), 124);
  Process writer = start({"run", "--write", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(queued("job"));
  EXPECT_EQ(try_run({"--read", "job"}), 124) << "a reader stands behind a waiting writer";
  reader.signal(SIGTERM);
  ASSERT_TRUE(writer.says("started"));
  EXPECT_EQ(try_run({"--read", "job"}), 124);
}

TEST_P(CliServers, AsManyHoldAsThereArePermits) {
  const Process alice = holder("pool", {"--permits", "2/3"});
  EXPECT_EQ(try_run({"--permits", "1/3", "pool"}), 0);
  EXPECT_EQ(try_run({"--permits", "2/3", "pool"}), 124);
  const Ended other = pawl({"run", "--permits", "1/4", "pool", "--", "true"});
  EXPECT_EQ(other.code, 125);
  EXPECT_EQ(other.err, "pawl: \"pool\" has 3 permits for those who use it now, not 4\n");
}

TEST_P(CliServers, SeveralLocksAreHadTogetherOrNotAtAll) {
  const Process alice = holder("b");
  EXPECT_EQ(try_run({"--also", "b", "a"}), 124);
  EXPECT_EQ(try_run({"--also", "c", "a"}), 0);
}

TEST_P(CliServers, ALeaderIsKnownAndFollowed) {
  EXPECT_EQ(pawl({"leader", "api"}).err, "pawl: nobody leads \"api\"\n");
  Process alice = start({"elect", "--value", "10.0.0.7:8080", "api", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(alice.says("started"));
  EXPECT_EQ(pawl({"leader", "api"}).out, "10.0.0.7:8080\n");
  const Process follower = start({"leader", "--follow", "api"});
  ASSERT_TRUE(follower.says("leader 10.0.0.7:8080\n"));
  Process bob = start({"elect", "--value", "10.0.0.8:8080", "api", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(queued("api"));
  alice.signal(SIGTERM);
  ASSERT_TRUE(bob.says("started"));
  EXPECT_EQ(pawl({"leader", "api"}).out, "10.0.0.8:8080\n");
  EXPECT_TRUE(follower.says("leader 10.0.0.8:8080\n"));
}

TEST_P(CliServers, LocksOfTwoSchemesNeverMeet) {
  for (const std::string& scheme : schemes()) {
    if (scheme == schemes().front()) continue;  // the default
    const Process alice = holder("job", {"--scheme", scheme});
    EXPECT_EQ(try_run({"--scheme", scheme, "job"}), 124);
    EXPECT_EQ(try_run({"job"}), 0);
    EXPECT_THAT(pawl({"show", "--scheme", scheme, "job"}).out, StartsWith("\"job\" (mutex, scheme " + scheme + ")\n"));
    EXPECT_THAT(pawl({"ls", "--scheme", scheme}).out, HasSubstr("\njob   mutex "));
    EXPECT_EQ(pawl({"ls"}).out, "");
  }
}

TEST_P(CliServers, ARunThatSeesAnotherKindOfItsNameRefuses) {
  const Process reader = holder("job", {"--read"});
  const Ended mutex = pawl({"run", "--no-wait", "job", "--", "true"});
  EXPECT_EQ(mutex.code, 125);
  EXPECT_THAT(mutex.err, StartsWith("pawl: \"job\" is also in use as a rw lock: a mutex does not exclude it; "));
  EXPECT_EQ(try_run({"--any-kind", "job"}), 0);
  EXPECT_EQ(try_run({"--read", "job"}), 0);
  for (const std::string& scheme : schemes()) {
    if (scheme == schemes().front()) continue;  // the default
    EXPECT_EQ(try_run({"--scheme", scheme, "job"}), 0) << "it has mutexes only";
  }
}

TEST_P(CliServers, ANewEpochIsLargerAndSoAreItsTokens) {
  const std::string before = pawl({"epoch"}).out;
  const std::string token = "echo $PAWL_TOKEN";
  const std::string first = pawl({"run", "job", "--", "sh", "-c", token}).out;
  const std::string after = pawl({"epoch", "new"}).out;
  EXPECT_GT(std::stoull(after), std::stoull(before));
  EXPECT_EQ(pawl({"epoch"}).out, after);
  EXPECT_GT(pawl({"run", "job", "--", "sh", "-c", token}).out, first);
}

}  // namespace
}  // namespace pawl::test
