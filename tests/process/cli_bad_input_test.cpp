#include "tests/process/cli.hpp"
#include "tests/support/skip.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct BadInput {
  Words words;
  std::string names;  ///< what the line must name: the input, and what would be right
  int code = 125;
};

class CliBadInput : public CliTest {
 protected:
  static void expect_one_line(const Ended& ended, const std::string& names, int code) {
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), EndsWith("\n"), HasSubstr(names)));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
  void expect_refused(const BadInput& input) const { expect_one_line(pawl(input.words), input.names, input.code); }
};

TEST_F(CliBadInput, IsToldInOneLineThatNamesItAndWhatIsRight) {
  const std::string long_name(4097, 'x');
  const std::vector<BadInput> inputs = {
      {{}, "the subcommand is missing; try \"pawl --help\""},
      {{"frob"}, "unknown subcommand \"frob\"; try \"pawl --help\""},
      {{"--frob"}, "unknown option \"--frob\"; try \"pawl --help\""},
      {{"ls", "--frob"}, "unknown option \"--frob\"; try \"pawl ls --help\""},
      {{"ls", "a", "b"}, "unexpected argument \"b\""},
      {{"show"}, "NAME is missing; try \"pawl show --help\""},
      {{"show", ""}, "name must not be empty"},
      {{"show", long_name}, "4096"},
      {{"show", "--kind", "spin", "job"}, "\"spin\" is not a kind of lock; the kinds are mutex, rw, permits, election"},
      {{"show", "--scheme", "bully", "job"}, "unknown scheme \"bully\"; this store has: queue"},
      {{"run"}, "the command is missing; write pawl run [OPTIONS] NAME -- COMMAND"},
      {{"run", "job"}, "the command is missing"},
      {{"run", "job", "--"}, "the command is missing"},
      {{"run", "--", "true"}, "NAME is missing"},
      {{"run", "", "--", "true"}, "name must not be empty"},
      {{"run", long_name, "--", "true"}, "4096"},
      {{"run", "job", "true", "--", "true"}, "unexpected argument \"true\""},
      {{"run", "--wait", "10", "job", "--", "true"}, "--wait: \"10\" is not a duration: it has no unit"},
      {{"run", "--wait", "-1s", "job", "--", "true"}, "--wait: \"-1s\" is not a duration: it must not be negative"},
      {{"run", "--wait", "soon", "job", "--", "true"}, "like 1500ms, 1.5s or 1h30m"},
      {{"run", "--wait"}, "--wait needs a value"},
      {{"run", "--wait", "1s", "--no-wait", "job", "--", "true"}, "--no-wait"},
      {{"run", "--lease", "1ms", "job", "--", "true"}, "lease is 1ms; file/queue takes 100ms to 1d"},
      {{"run", "--grace", "20s", "job", "--", "true"}, "--grace 20s is too long for a lease of 30s"},
      {{"run", "--lock-delay", "61s", "job", "--", "true"}, "it must be between 0 and 60s"},
      {{"run", "--scheme", "bully", "job", "--", "true"}, "unknown scheme \"bully\"; this store has: queue"},
      {{"run", "-E", "256", "job", "--", "true"}, "256"},
      {{"run", "--label", std::string(257, 'x'), "job", "--", "true"}, "a label can have 256 bytes"},
      {{"run", "--read", "--write", "job", "--", "true"}, "--read excludes --write"},
      {{"run", "--permits", "1/2", "--read", "job", "--", "true"}, "--read excludes --permits"},
      {{"run", "--permits", "1/2", "--write", "job", "--", "true"}, "--write excludes --permits"},
      {{"run", "--permits", "0/3", "job", "--", "true"}, "\"0/3\" asks for no permit: it must be one at least"},
      {{"run", "--permits", "4/3", "job", "--", "true"}, "\"4/3\" can never be had: 4 is more than 3"},
      {{"run", "--permits", "1/0", "job", "--", "true"}, "\"1/0\" can never be had: 1 is more than 0"},
      {{"run", "--permits", "1/10001", "job", "--", "true"}, "a semaphore has 10000 permits at the most"},
      {{"run", "--permits", "1/99999999999", "job", "--", "true"}, "a semaphore has 10000 permits at the most"},
      {{"run", "--permits", "job", "--", "true"}, "--permits: \"job\" is not K/N, as in 1/3"},
      {{"run", "--permits", "3", "job", "--", "true"}, "--permits: \"3\" is not K/N, as in 1/3"},
      {{"run", "--permits", "a/b", "job", "--", "true"}, "--permits: \"a/b\" is not K/N, as in 1/3"},
      {{"run", "--permits", "-1/3", "job", "--", "true"}, "--permits: \"-1/3\" is not K/N, as in 1/3"},
      {{"run", "--permits", "1/-3", "job", "--", "true"}, "--permits: \"1/-3\" is not K/N, as in 1/3"},
      {{"run", "--permits", "1/3/4", "job", "--", "true"}, "--permits: \"1/3/4\" is not K/N, as in 1/3"},
      {{"run", "--permits", "1/ 3", "job", "--", "true"}, "--permits: \"1/ 3\" is not K/N, as in 1/3"},
      {{"run", "--permits", "/", "job", "--", "true"}, "--permits: \"/\" is not K/N, as in 1/3"},
      {{"run", "--permits", "", "job", "--", "true"}, "--permits: \"\" is not K/N, as in 1/3"},
      {{"run", "--permits"}, "--permits needs a value"},
      {{"run", "--also", "job", "job", "--", "true"}, "\"job\" is named twice; name every lock once"},
      {{"run", "--permits", "1/2", "--also", "job", "job", "--", "true"}, "\"job\" is named twice"},
      {{"run", "--also", "a", "--also", "a", "job", "--", "true"}, "\"a\" is named twice"},
      {{"run", "--also", "", "job", "--", "true"}, "name must not be empty"},
      {{"run", "--also", long_name, "job", "--", "true"}, "4096"},
      {{"run", "--also", "job", "--", "true"}, "NAME is missing"},
      {{"run", "--also", "--", "true"}, "--also needs a value"},
      {{"elect"}, "the command is missing; write pawl elect [OPTIONS] NAME -- COMMAND"},
      {{"elect", "api"}, "the command is missing"},
      {{"elect", "--", "true"}, "NAME is missing; write pawl elect"},
      {{"elect", "", "--", "true"}, "name must not be empty"},
      {{"elect", "--value", long_name, "api", "--", "true"}, "value can have 4096 bytes at the most"},
      {{"elect", "--value"}, "--value needs a value"},
      {{"elect", "--read", "api", "--", "true"}, "unknown option \"--read\"; try \"pawl elect --help\""},
      {{"elect", "--grace", "20s", "api", "--", "true"}, "--grace 20s is too long for a lease of 30s"},
      {{"leader"}, "NAME is missing; try \"pawl leader --help\""},
      {{"leader", ""}, "name must not be empty"},
      {{"leader", "--follow", long_name}, "4096"},
      {{"leader", "a", "b"}, "unexpected argument \"b\""},
      {{"leader", "--follow", "--scheme", "bully", "api"}, "unknown scheme \"bully\"; this store has: queue"},
      {{"check", "pawl1.nonsense"}, "\"pawl1.nonsense\" is not a sequencer"},
      {{"epoch", "old"}, "\"old\" is not known here; the only word is \"new\""},
      {{"--store", "carrier-pigeon:coop", "ls"}, "unknown store \"carrier-pigeon:\"; this build knows: "},
      {{"--store", "nonsense", "ls"}, "\"nonsense\" is not a store URL"},
      {{"--store", "", "ls"}, "\"\" is not a store URL"},
      {{"--store", "file:relative", "ls"}, "file:///"},
      {{"--store", "file://host/path", "ls"}, "three slashes"},
      {{"--store", "file:///tmp/x?leese=1s", "ls"}, "unknown option \"leese\""},
      {{"--store", "file:///tmp/x?lease=1", "ls"}, "\"1\" is not a duration: it has no unit"},
  };
  for (const BadInput& input : inputs) {
    SCOPED_TRACE(testing::PrintToString(input.words).substr(0, 200));
    expect_refused(input);
  }
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliBadInput, ASecretInAWrongUrlIsNotRepeated) {
  const Ended ended = pawl({"--store", "redis://bob:s3cr/et@host", "ls"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, testing::Not(HasSubstr("s3cr")));
}

TEST_F(CliBadInput, AStoreFolderThatIsAFile) {
  std::ofstream(folder_ / "file") << "not a folder";
  expect_refused({{"--store", "file://" + (folder_ / "file"), "ls"}, "\"" + (folder_ / "file") + "\" is not a folder"});
  EXPECT_EQ(read_file(folder_ / "file"), "not a folder");
}

TEST_F(CliBadInput, AStoreFolderWithoutPermission) {
  // Root may do everything, so root becomes somebody else, who must be able to reach the command.
  const std::string copy = folder_ / "pawl";
  std::filesystem::copy_file(PAWL_CLI, copy);
  ::chmod(folder_.path().c_str(), 0755);
  ::mkdir((folder_ / "closed").c_str(), 0500);
  Words command{copy, "--store", "file://" + (folder_ / "closed") + "/store", "run", "job", "--", "true"};
  if (::geteuid() == 0) {
    const Words other{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    command.insert(command.begin(), other.begin(), other.end());
  }
  Process process(command, {"PATH=/usr/bin:/bin"}, folder_.path());
  expect_one_line(process.wait(), (folder_ / "closed") + "/store\": Permission denied", 121);
  ::chmod((folder_ / "closed").c_str(), 0700);
}

TEST_F(CliBadInput, AFullDisk) {
  const std::string mount = "mount -t tmpfs -o size=64k none '" + folder_.path() + "'";
  const Words environment{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  if (Process({"unshare", "-rm", "sh", "-c", mount}, environment, folder_.path()).wait().code != 0) {
    PAWL_SKIP_WITHOUT("no small disk can be mounted here");
  }
  Process process(
      {"unshare", "-rm", "sh", "-c", mount + " && exec " PAWL_CLI " --store " + store() + " run job -- true"},
      environment, folder_.path());
  expect_one_line(process.wait(), "the disk is full", 121);
}

}  // namespace
}  // namespace pawl::test
