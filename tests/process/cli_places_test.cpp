#include "tests/process/cli.hpp"
#include "tests/support/skip.hpp"

#include <unistd.h>

#include <string>

/// Where the command's files are: the default store, the man page, the completion, the demo's ledger.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string source = PAWL_SOURCE;

class CliPlaces : public CliTest {
 protected:
  Ended run(const Words& command, const Words& environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}) const {
    return Process(command, environment, folder_.path()).wait();
  }
};

TEST_F(CliPlaces, CronAndAShellMeetInOneDefaultFolder) {
  // As root, whose default store is /var/lib/pawl, with a /var/lib of its own for the time of the test.
  const std::string play =
      "mount -t tmpfs none /var/lib || exit 77\n"
      "env -i PATH=/usr/bin:/bin " PAWL_CLI
      " run job -- sh -c 'echo held > /var/lib/held; exec sleep 1000' &\n"
      "until test -e /var/lib/held; do sleep 0.01; done\n"
      "export HOME=/nonexistent XDG_STATE_HOME=/nonexistent XDG_RUNTIME_DIR=/nonexistent LANG=C\n" PAWL_CLI
      " run --no-wait job -- true\n"
      "code=$?\n"
      "kill $!\n"
      "ls /var/lib/pawl >&2\n"
      "exit $code";
  const Ended ended = run({"unshare", "-rm", "sh", "-c", play});
  if (ended.code == 77 || ended.err.find("unshare") != std::string::npos) PAWL_SKIP_WITHOUT(ended.err);
  EXPECT_EQ(ended.code, 124) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("pawl: \"job\" is held by "), HasSubstr("tokens")));
}

TEST_F(CliPlaces, EverySubcommandHasHelpWithAnExample) {
  for (const std::string name : {"run", "hold", "elect", "leader", "ls", "show", "revoke", "check", "epoch", "demo",
                                 "bench", "torture", "schemes"}) {
    const Ended help = pawl({name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: pawl " + name), HasSubstr("Example"), HasSubstr("\n  pawl ")))
        << name;
    EXPECT_THAT(pawl({"--help"}).out, HasSubstr("\n  " + name + " "));
  }
}

TEST_F(CliPlaces, TheManPageIsCleanAndKnowsEverySubcommandAndCode) {
  const Ended page = run({"man", "--warnings", "-l", source + "/docs/pawl.1"},
                         {"PATH=/usr/bin:/bin", "MANPAGER=cat", "MANWIDTH=100", "LC_ALL=C"});
  if (page.code == 99) PAWL_SKIP_WITHOUT("no man here");
  EXPECT_EQ(page.code, 0);
  EXPECT_EQ(page.err, "");
  for (const std::string word :
       {"run",   "elect",    "leader",  "ls",      "show",       "revoke",          "check",
        "epoch", "demo",     "bench",   "schemes", "version",    "--read",          "--write",
        "121",   "122",      "124",     "125",     "--permits",  "--also",          "126",
        "127",   "--follow", "--value", "torture", "PAWL_STORE", "PAWL_SEQUENCERS", "PAWL_VALUE"}) {
    EXPECT_THAT(page.out, HasSubstr(word));
  }
}

/// What bash offers for the last word of a line.
TEST_F(CliPlaces, BashCompletesSubcommandsOptionsAndLocks) {
  const auto complete = [&](const std::string& words) {
    const std::string script = "source '" + source +
                               "/apps/cli/completion/pawl.bash'\n"
                               "COMP_WORDS=(" +
                               words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                               "_pawl; echo \"${COMPREPLY[*]}\"";
    const std::string bin = folder_.path();
    ::unlink((bin + "/pawl").c_str());
    EXPECT_EQ(::symlink(PAWL_CLI, (bin + "/pawl").c_str()), 0);
    const Ended ended =
        run({"bash", "--norc", "-c", script}, {"PATH=" + bin + ":/usr/bin:/bin", "PAWL_STORE=" + store()});
    EXPECT_EQ(ended.err, "");
    return ended.out;
  };
  const Process alice = holder("billing/a");
  EXPECT_EQ(complete("pawl r"), "run revoke\n");
  EXPECT_EQ(complete("pawl run --wa"), "--wait\n");
  EXPECT_EQ(complete("pawl show bil"), "billing/a\n");
  EXPECT_EQ(complete("pawl --store " + store() + " show --j"), "--json\n");
  EXPECT_EQ(complete("pawl show --kind r"), "rw\n");
  EXPECT_EQ(complete("pawl epoch n"), "new\n");
  EXPECT_EQ(complete("pawl run --also bil"), "billing/a\n");
  EXPECT_EQ(complete("pawl run --per"), "--permits\n");
  EXPECT_EQ(complete("pawl elect --va"), "--value\n");
  EXPECT_EQ(complete("pawl leader --f"), "--follow\n");
}

TEST_F(CliPlaces, ADemoThatCannotBeginSaysSo) {
  const Ended ended = run({PAWL_CLI, "demo"}, {"PATH=/usr/bin:/bin", "TMPDIR=/proc"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, HasSubstr("pawl: cannot make a temporary folder /proc/pawl-demo"));
}

}  // namespace
}  // namespace pawl::test
