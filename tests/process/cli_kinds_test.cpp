#include "tests/process/cli.hpp"

#include <pawl/client.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// The kinds of locks that `pawl run` can take, alone and together.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class CliKinds : public CliTest {
 protected:
  /// The exit code of one who does not wait.
  int try_run(Words options) const {
    options.insert(options.begin(), {"run", "--no-wait"});
    options.insert(options.end(), {"--", "true"});
    return pawl(std::move(options)).code;
  }
  static std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
  }
};

TEST_F(CliKinds, ReadersHoldTogetherAndAWriterAlone) {
  Process alice = holder("job", {"--read"});
  Process bob = holder("job", {"--read"});
  Process writer = start({"run", "--write", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(queued("job", 1));
  EXPECT_EQ(try_run({"--read", "job"}), 124) << "a reader stands behind a waiting writer";
  alice.signal(SIGTERM);
  alice.wait();
  EXPECT_TRUE(queued("job", 1));
  EXPECT_EQ(writer.out(), "");
  bob.signal(SIGTERM);
  bob.wait();
  ASSERT_TRUE(writer.says("started"));
  EXPECT_EQ(try_run({"--read", "job"}), 124);
  EXPECT_EQ(try_run({"--write", "job"}), 124);
}

TEST_F(CliKinds, AWriterThatReadsOnLetsOtherReadersIn) {
  Client client(store());
  Hold alice = client.shared_mutex("job").acquire().value();
  EXPECT_EQ(try_run({"--read", "job"}), 124);
  ASSERT_TRUE(alice.downgrade());
  const Process bob = holder("job", {"--read"});
  EXPECT_EQ(try_run({"--write", "job"}), 124);
  const std::string view = pawl({"show", "job"}).out;
  EXPECT_THAT(view, AllOf(HasSubstr(", pid " + std::to_string(::getpid()) + ", shared\n    token  " +
                                    alice.token().to_string()),
                          HasSubstr(": sh, shared\n")));
}

TEST_F(CliKinds, AmongManyProcessesNobodyReadsWhileOneWrites) {
  const std::string busy = "'" + (folder_ / "busy") + "'";
  std::vector<Process> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(start({"run", "--write", "job", "--", "sh", "-c", "mkdir " + busy + " && rmdir " + busy}));
    all.push_back(start({"run", "--read", "job", "--", "sh", "-c", "test ! -e " + busy}));
  }
  for (Process& process : all) EXPECT_EQ(process.wait().code, 0);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliKinds, AsManyHoldAsThereArePermits) {
  Process alice = holder("pool", {"--permits", "1/3"});
  Process bob = holder("pool", {"--permits", "1/3"});
  EXPECT_EQ(try_run({"--permits", "1/3", "pool"}), 0);
  Process carol = start({"run", "--permits", "2/3", "pool", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(queued("pool", 1));
  EXPECT_EQ(try_run({"--permits", "1/3", "pool"}), 124) << "first come, first served, also when a later one wants less";
  alice.signal(SIGTERM);
  ASSERT_TRUE(carol.says("started"));
  EXPECT_EQ(try_run({"--permits", "1/3", "pool"}), 124);
  EXPECT_TRUE(bob.running());
}

TEST_F(CliKinds, WhoCountsAnotherNumberOfPermitsIsToldBoth) {
  const Process alice = holder("pool", {"--permits", "1/3"});
  const Ended bob = pawl({"run", "--permits", "1/4", "pool", "--", "true"});
  EXPECT_EQ(bob.code, 125);
  EXPECT_EQ(bob.err, "pawl: \"pool\" has 3 permits for those who use it now, not 4\n");
}

TEST_F(CliKinds, FurtherLocksAreHeldTogetherWithTheFirst) {
  const Process alice = holder("a", {"--also", "b", "--also", "c"});
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(try_run({name}), 124);
}

TEST_F(CliKinds, IfOneLockCannotBeHadNoneIsKept) {
  const Process alice = holder("b");
  const Ended bob = pawl({"run", "--no-wait", "--also", "b", "--also", "c", "a", "--", "true"});
  EXPECT_EQ(bob.code, 124);
  EXPECT_THAT(bob.err, StartsWith("pawl: \"b\" is held by "));
  EXPECT_EQ(pawl({"run", "--wait", "20ms", "--also", "b", "a", "--", "true"}).code, 124);
  EXPECT_EQ(try_run({"--also", "c", "a"}), 0);
}

TEST_F(CliKinds, TwoRunsThatNameTheirLocksInOppositeOrderNeverDeadLock) {
  const std::string busy = "'" + (folder_ / "busy") + "'";
  const auto loop = [&](const std::string& names) {
    const std::string script = "i=0; while test $i -lt 25; do " PAWL_CLI " run " + names + " -- sh -c \"mkdir " + busy +
                               " && rmdir " + busy + "\" || exit 9; i=$((i+1)); done";
    return Process({"sh", "-c", script}, {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}, folder_.path());
  };
  Process one = loop("--also b a");
  Process other = loop("--also a b");
  EXPECT_EQ(one.wait().code, 0);
  EXPECT_EQ(other.wait().code, 0);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliKinds, ASignalEndsTheWaitForSeveralAndNothingIsKept) {
  const Process alice = holder("b");
  Process bob = start({"run", "--also", "b", "a", "--", "true"});
  ASSERT_TRUE(queued("b", 1));
  EXPECT_EQ(try_run({"a"}), 124) << "bob has it already";
  bob.signal(SIGTERM);
  const Ended ended = bob.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_EQ(ended.err, "pawl: SIGTERM while waiting for the locks\n");
  EXPECT_EQ(try_run({"a"}), 0);
  EXPECT_THAT(pawl({"show", "b"}).out, HasSubstr("nobody waits"));
}

TEST_F(CliKinds, OfSeveralTheOneThatIsLostIsNamed) {
  Process alice = holder("a", {"--also", "b"});
  EXPECT_EQ(pawl({"revoke", "--now", "b"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_EQ(ended.err,
            "pawl: the lock \"b\" is lost: it was taken away, as by pawl revoke --now: the command was killed\n");
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliKinds, OfSeveralTheOneThatIsAskedForIsNamed) {
  Process alice = holder("a", {"--also", "b"});
  EXPECT_EQ(pawl({"revoke", "b"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_EQ(ended.err, "pawl: somebody asks for the lock \"b\" (pawl revoke): sent TERM to the command\n");
}

TEST_F(CliKinds, TheCommandIsToldTheSequencersOfAllLocksAndPermits) {
  const std::string say = "echo \"$PAWL_LOCK $PAWL_TOKEN $PAWL_SEQUENCER $PAWL_SEQUENCERS\"";
  const auto told = [&](Words options) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "sh", "-c", say});
    return words_of(pawl(std::move(options)).out);
  };
  const std::string hex = "[0-9a-f]+";
  const std::vector<std::string> two = told({"--also", "b", "a"});
  ASSERT_EQ(two.size(), 5U);
  EXPECT_EQ(two[0], "a");
  EXPECT_THAT(two[2], EndsWith(".mutex.exclusive.-." + two[1] + ".a"));
  EXPECT_EQ(two[3], two[2]);
  EXPECT_THAT(two[4], MatchesRegex("pawl1\\." + hex + "\\.mutex\\.exclusive\\.-\\." + hex + "\\.b"));

  const std::vector<std::string> permits = told({"--permits", "2/4", "--also", "b", "pool"});
  ASSERT_EQ(permits.size(), 6U);
  EXPECT_THAT(permits[3], HasSubstr(".permits.exclusive.0." + permits[1] + ".pool"));
  EXPECT_THAT(permits[4], HasSubstr(".permits.exclusive.1."));
  EXPECT_THAT(permits[5], HasSubstr(".mutex.exclusive.-."));

  for (const auto& [option, mode] : {std::pair{"--read", "shared"}, std::pair{"--write", "exclusive"}}) {
    const std::vector<std::string> both = told({option, "--also", "b", "a"});
    ASSERT_EQ(both.size(), 5U);
    for (const std::size_t i : {3U, 4U}) EXPECT_THAT(both[i], HasSubstr(std::string(".rw.") + mode + ".-."));
  }
}

TEST_F(CliKinds, MoreSequencersThanAVariableCanHoldAreLeftOut) {
  const Ended ended =
      pawl({"run", "--permits", "5000/10000", "pool", "--", "sh", "-c", "echo ${PAWL_SEQUENCERS-none}"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "none\n");
  EXPECT_EQ(ended.err, "pawl: PAWL_SEQUENCERS is not set: 5000 of them are longer than a variable can be\n");
}

TEST_F(CliKinds, NothingOfAnOuterPawlLeaksIn) {
  const Ended inner = pawl({"elect", "--value", "me", "api", "--", PAWL_CLI, "run", "--also", "b", "a", "--",  //
                            PAWL_CLI, "run", "job", "--", "env"});
  EXPECT_EQ(inner.code, 0) << inner.err;
  EXPECT_THAT(inner.out, AllOf(HasSubstr("PAWL_LOCK=job\n"), Not(HasSubstr("PAWL_VALUE")), Not(HasSubstr(".a\n")),
                               Not(HasSubstr(".api\n"))));
  const std::vector<std::string> lines = words_of(inner.out);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("PAWL_"); }), 5);
}

TEST_F(CliKinds, ARunThatSeesAnotherKindOfItsNameRefuses) {
  const std::string end = "; use the same kind of lock everywhere, or --any-kind to go on\n";
  const Process reader = holder("job", {"--read"});
  const Ended mutex = pawl({"run", "job", "--", "echo", "ran"});
  EXPECT_EQ(mutex.code, 125);
  EXPECT_EQ(mutex.out, "");
  EXPECT_EQ(mutex.err, "pawl: \"job\" is also in use as a rw lock: a mutex does not exclude it" + end);
  const Ended candidate = pawl({"elect", "job", "--", "true"});
  EXPECT_EQ(candidate.code, 125);
  EXPECT_EQ(candidate.err, "pawl: \"job\" is also in use as a rw lock: an election does not exclude it" + end);
  EXPECT_EQ(pawl({"run", "--also", "job", "other", "--", "true"}).code, 125) << "of any name";
  EXPECT_EQ(pawl({"run", "-E", "0", "job", "--", "true"}).code, 125) << "that is not \"taken\"";
  EXPECT_EQ(pawl({"run", "--read", "job", "--", "true"}).code, 0) << "the same kind";
  EXPECT_EQ(pawl({"run", "other", "--", "true"}).code, 0) << "another name";
  EXPECT_THAT(pawl({"show", "job"}).out, Not(HasSubstr("mutex"))) << "nothing is left of those who were refused";
}

TEST_F(CliKinds, WithAnyKindARunGoesOnBesideOtherKinds) {
  const Process reader = holder("job", {"--read"});
  const Ended beside = pawl({"run", "--any-kind", "job", "--", "echo", "ran"});
  EXPECT_EQ(beside.code, 0);
  EXPECT_EQ(beside.out, "ran\n");
  EXPECT_EQ(beside.err, "");
  EXPECT_EQ(pawl({"elect", "--any-kind", "job", "--", "true"}).code, 0);
  const Process one = holder("job", {"--permits", "1/2", "--any-kind"});
  EXPECT_THAT(pawl({"run", "job", "--", "true"}).err,
              HasSubstr("in use as a rw lock and a semaphore: a mutex does not exclude them; "));
  const Process plain = holder("job", {"--any-kind"});
  EXPECT_THAT(pawl({"elect", "job", "--", "true"}).err, HasSubstr("in use as a mutex, a rw lock and a semaphore: "));
}

// Scenario: while a run waits in the queue, a program takes another kind of the same name, and nothing stops that.
TEST_F(CliKinds, AnotherKindThatComesWhileARunWaitsIsSeenWithTheGrant) {
  Client client(store());
  Hold alice = client.shared_mutex("job").acquire().value();
  Process writer = start({"run", "--write", "job", "--", "echo", "ran"});
  ASSERT_TRUE(queued("job", 1));
  const Hold mutex = client.mutex("job").acquire().value();
  ASSERT_TRUE(alice.release());
  const Ended ended = writer.wait();
  EXPECT_EQ(ended.code, 125);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("is also in use as a mutex: a rw lock does not exclude it"));
  EXPECT_TRUE(client.shared_mutex("job").try_acquire()) << "and the lock was let go";
}

TEST_F(CliKinds, OfTwoKindsThatStartAtTheSameTimeNeverBothRun) {
  const std::string busy = "'" + (folder_ / "busy") + "'";
  const std::string script = "mkdir " + busy + " || exit 9; rmdir " + busy;
  for (int i = 0; i < 20; ++i) {
    Process one = start({"run", "job", "--", "sh", "-c", script});
    Process other = start({"run", "--write", "job", "--", "sh", "-c", script});
    for (Process* process : {&one, &other}) {
      const Ended ended = process->wait();
      EXPECT_TRUE(ended.code == 0 || ended.code == 125) << ended.code << ended.err;
    }
  }
  EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace pawl::test
