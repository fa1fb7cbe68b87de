#include "tests/process/cli.hpp"

#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class CliInspect : public CliTest {
 protected:
  /// What a Python expression makes of the JSON that pawl prints; `d` is the document.
  std::string of_json(const Words& words, const std::string& expression) const {
    const Ended printed = pawl(words);
    EXPECT_EQ(printed.code, 0) << printed.err;
    const std::string program = "import json, sys; d = json.loads(sys.argv[1]); print(" + expression + ")";
    return Process({"python3", "-c", program, printed.out}, {"PATH=/usr/bin:/bin", "PYTHONUTF8=1"}, folder_.path())
        .wait()
        .out;
  }
  /// The claim's id of the only holder.
  std::string claim_of(const std::string& name) const {
    const std::string id = of_json({"show", "--json", name}, "d['locks'][0]['holders'][0]['claim']");
    return id.substr(0, id.find('\n'));
  }
};

TEST_F(CliInspect, AFreeStoreHasNothingToList) {
  const Ended empty = pawl({"ls"});
  EXPECT_EQ(empty.code, 0);
  EXPECT_EQ(empty.out, "");
  EXPECT_EQ(empty.err, "pawl: no lock is in use\n");
  EXPECT_EQ(of_json({"ls", "--json"}, "d['version'], d['locks']"), "1 []\n");
  EXPECT_EQ(pawl({"show", "job"}).out, "\"job\" is free: nobody holds it or waits for it\n");
  EXPECT_EQ(of_json({"show", "--json", "job"}, "d['version'], d['locks']"), "1 []\n");
}

TEST_F(CliInspect, ShowTellsHolderAndWaitersInOrder) {
  const Process alice = holder("job", {"--label", "alice's work"});
  const Process bob = start({"run", "--label", "bob", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  const Process carol = start({"run", "--label", "carol", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 2));
  const std::string view = pawl({"show", "job"}).out;
  EXPECT_THAT(view,
              AllOf(StartsWith("\"job\" (mutex, scheme queue)\n  held for "),
                    HasSubstr(", pid " + std::to_string(alice.pid()) + ": alice's work\n"), HasSubstr("    token  "),
                    HasSubstr("    claim  "), HasSubstr("    lease  "), HasSubstr("  2 waiting\n")));
  EXPECT_LT(view.find("pid " + std::to_string(bob.pid()) + ": bob"),
            view.find("pid " + std::to_string(carol.pid()) + ": carol"));
}

TEST_F(CliInspect, TheSameAsJson) {
  const Process alice = holder("job", {"--label", "a \"quoted\" label"});
  const Process bob = start({"run", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  EXPECT_EQ(
      of_json({"show", "--json", "job"},
              "d['version'], [(l['name'], l['kind'], l['scheme'], len(l['holders'][0]['token']), "
              "l['holders'][0]['pid'], l['holders'][0]['label'], [w['pid'] for w in l['waiters']], "
              "l['holders'][0]['age_ms'] >= 0, 0 < l['holders'][0]['lease_left_ms'] <= 30000) for l in d['locks']]"),
      "1 [('job', 'mutex', 'queue', 32, " + std::to_string(alice.pid()) + ", 'a \"quoted\" label', [" +
          std::to_string(bob.pid()) + "], True, True)]\n");
}

TEST_F(CliInspect, LsListsByPrefix) {
  const Process one = holder("billing/a");
  const Process two = holder("billing/b");
  const Process other = holder("other");
  EXPECT_EQ(of_json({"ls", "--json"}, "[l['name'] for l in d['locks']]"), "['billing/a', 'billing/b', 'other']\n");
  EXPECT_EQ(of_json({"ls", "--json", "billing/"}, "[l['name'] for l in d['locks']]"), "['billing/a', 'billing/b']\n");
  const std::string table = pawl({"ls", "billing/"}).out;
  EXPECT_THAT(table, AllOf(StartsWith("NAME       KIND   HOLDERS  WAITING  HELD FOR  TOKEN"),
                           HasSubstr("\nbilling/a  mutex  1        0 "),
                           HasSubstr(", pid " + std::to_string(two.pid()) + ": sh\n")));
  EXPECT_EQ(pawl({"ls", "nothing/"}).err, "pawl: no lock whose name begins with \"nothing/\" is in use\n");
}

TEST_F(CliInspect, AnyBytesAsANameMakeGoodJsonAndOneLine) {
  const std::string name = "a\nb\t\"c\" \xff \xc3\xa4";
  const Process alice = holder(name);
  EXPECT_EQ(of_json({"ls", "--json"}, "ascii(d['locks'][0]['name']), d['locks'][0]['encoded_name']"),
            "'a\\nb\\t\"c\" \\ufffd \\xe4' a%0Ab%09%22c%22%20%FF%20%C3%A4\n");
  const std::string table = pawl({"ls"}).out;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
}

/// One name, four locks, each in use.
class CliAllKinds : public CliInspect {
 protected:
  CliAllKinds() {
    all_.push_back(holder("job", {"--label", "plain"}));
    all_.push_back(holder("job", {"--any-kind", "--read", "--label", "reader one"}));
    all_.push_back(holder("job", {"--any-kind", "--read", "--label", "reader two"}));
    all_.push_back(holder("job", {"--any-kind", "--permits", "1/5", "--label", "first"}));
    all_.push_back(holder("job", {"--any-kind", "--permits", "2/5", "--label", "second"}));
    all_.push_back(start({"run", "--any-kind", "--permits", "4/5", "job", "--", "true"}));
    all_.push_back(start({"elect", "--any-kind", "--value", "10.0.0.7", "job", "--", "sh", "-c", sleeper}));
    EXPECT_TRUE(all_.back().says("started"));
    all_.push_back(start({"elect", "--any-kind", "--value", "10.0.0.8", "job", "--", "true"}));
    EXPECT_TRUE(eventually([&] {
      return of_json({"show", "--json", "job"}, "sum(len(l['waiters']) for l in d['locks'])") == "2\n";
    }));
  }
  std::vector<Process> all_;
};

TEST_F(CliAllKinds, ShowPrintsThemAll) {
  const std::string view = pawl({"show", "job"}).out;
  EXPECT_THAT(view, AllOf(HasSubstr("\"job\" (mutex, scheme queue)\n  held for "), HasSubstr(": plain\n"),
                          HasSubstr("\"job\" (rw, scheme queue)\n  held for "), HasSubstr(": reader one, shared\n"),
                          HasSubstr(": reader two, shared\n")));
  EXPECT_THAT(view,
              AllOf(HasSubstr("\"job\" (permits, scheme queue)\n  3 of 5 permits are taken\n  held for "),
                    HasSubstr(": first, 1 of 5 permits\n    slots  0\n"),
                    HasSubstr(": second, 2 of 5 permits\n    slots  1-2\n"), HasSubstr(": true (4 of 5 permits)\n")));
  EXPECT_THAT(view, AllOf(HasSubstr("\"job\" (election, scheme queue)\n  led for "),
                          HasSubstr(": sh\n    value  10.0.0.7\n"), HasSubstr(": true (value \"10.0.0.8\")\n")));
  const std::string readers = pawl({"show", "--kind", "rw", "job"}).out;
  EXPECT_THAT(readers, AllOf(StartsWith("\"job\" (rw, "), testing::Not(HasSubstr("permits"))));
}

TEST_F(CliAllKinds, TheSameAsJson) {
  EXPECT_EQ(of_json({"show", "--json", "job"},
                    "d['version'], [(l['kind'], l.get('permits'), [(h['mode'], h.get('permits'), h.get('slots'), "
                    "h.get('value')) for h in l['holders']], [(w.get('permits'), w.get('value')) for w in "
                    "l['waiters']]) for l in d['locks']]"),
            "1 [('mutex', None, [('exclusive', None, None, None)], []), "
            "('rw', None, [('shared', None, None, None), ('shared', None, None, None)], []), "
            "('permits', 5, [('exclusive', 1, [0], None), ('exclusive', 2, [1, 2], None)], [(4, None)]), "
            "('election', None, [('exclusive', None, None, '10.0.0.7')], [(None, '10.0.0.8')])]\n");
}

TEST_F(CliAllKinds, LsHasALineForEach) {
  const Process other = holder("a name before it", {"--permits", "1/2"});
  EXPECT_EQ(of_json({"ls", "--json"}, "[(l['name'][0], l['kind'], len(l['holders'])) for l in d['locks']]"),
            "[('a', 'permits', 1), ('j', 'mutex', 1), ('j', 'rw', 2), ('j', 'permits', 2), ('j', 'election', 1)]\n");
  const std::string table = pawl({"ls", "job"}).out;
  EXPECT_THAT(table, AllOf(HasSubstr("\njob   mutex     1        0 "), HasSubstr("\njob   rw        2        0 "),
                           HasSubstr(" and 1 more (shared)\n"), HasSubstr("\njob   permits   2        1 "),
                           HasSubstr(" and 1 more (3 of 5 permits)\n"), HasSubstr("\njob   election  1        1 ")));
}

TEST_F(CliAllKinds, OneOfSeveralHoldersIsAskedAndNoOther) {
  const Ended which = pawl({"revoke", "--kind", "rw", "job"});
  EXPECT_EQ(which.code, 125);
  EXPECT_THAT(which.err, HasSubstr("\"job\" can mean 2 claims, say which one with --claim or --kind: "));
  std::string claim = of_json({"show", "--json", "--kind", "rw", "job"},
                              "[h['claim'] for h in d['locks'][0]['holders'] if h['label'] == 'reader two'][0]");
  claim.pop_back();
  EXPECT_EQ(pawl({"revoke", "--claim", claim, "job"}).code, 0);
  EXPECT_EQ(all_[2].wait().code, 128 + SIGTERM);
  EXPECT_TRUE(all_[1].running());

  std::string permits = of_json({"show", "--json", "--kind", "permits", "job"}, "d['locks'][0]['holders'][1]['claim']");
  permits.pop_back();
  EXPECT_EQ(pawl({"revoke", "--now", "--kind", "permits", "--claim", permits, "job"}).code, 0);
  EXPECT_EQ(all_[4].wait().code, 122);
  EXPECT_EQ(pawl({"revoke", "--kind", "mutex", "job"}).code, 0);
  EXPECT_EQ(all_[0].wait().code, 128 + SIGTERM);
  EXPECT_EQ(pawl({"revoke", "--kind", "election", "job"}).code, 0);
  EXPECT_EQ(all_[6].wait().code, 128 + SIGTERM);
}

TEST_F(CliInspect, CheckKnowsEveryKind) {
  const std::string check =
      "for s in $PAWL_SEQUENCERS; do " PAWL_CLI " check $s || exit 9; done; echo $PAWL_SEQUENCERS";
  for (Words words :
       {Words{"run", "job"}, Words{"run", "--read", "job"}, Words{"run", "--write", "job"},
        Words{"run", "--permits", "2/3", "job"}, Words{"run", "--also", "b", "job"}, Words{"elect", "job"}}) {
    words.insert(words.end(), {"--", "sh", "-c", check});
    SCOPED_TRACE(testing::PrintToString(words));
    const Ended ended = pawl(words);
    EXPECT_EQ(ended.code, 0) << ended.out;
    const std::string all = ended.out.substr(ended.out.rfind("pawl1."));
    EXPECT_EQ(pawl({"check", all.substr(0, all.find('\n'))}).code, 1) << "it is over";
  }
}

TEST_F(CliInspect, CheckTellsWhetherAGrantStands) {
  Process alice = start({"run", "job", "--", "sh", "-c", "echo $PAWL_SEQUENCER; exec sleep 1000"});
  ASSERT_TRUE(alice.says("\n"));
  const std::string sequencer = alice.out().substr(0, alice.out().find('\n'));
  EXPECT_EQ(pawl({"check", sequencer}).code, 0);
  EXPECT_EQ(of_json({"check", "--json", sequencer}, "d['version'], d['stands'], d['name']"), "1 True job\n");
  alice.signal(SIGTERM);
  alice.wait();
  const Ended over = pawl({"check", sequencer});
  EXPECT_EQ(over.code, 1);
  EXPECT_THAT(over.out, HasSubstr("does not stand any more"));
}

TEST_F(CliInspect, ANewEpochIsLargerAndSoAreItsTokens) {
  const Ended before = pawl({"epoch"});
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_EQ(pawl({"epoch"}).out, before.out);
  const std::string token = pawl({"run", "job", "--", "sh", "-c", "echo $PAWL_TOKEN"}).out;
  const Ended after = pawl({"epoch", "new"});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_GT(std::stoull(after.out), std::stoull(before.out));
  EXPECT_EQ(pawl({"epoch"}).out, after.out);
  EXPECT_EQ(of_json({"epoch", "--json"}, "d['version'], len(d['store_id'])"), "1 16\n");
  const std::string later = pawl({"run", "job", "--", "sh", "-c", "echo $PAWL_TOKEN"}).out;
  EXPECT_GT(later.substr(0, 12), token.substr(0, 12));
}

TEST_F(CliInspect, ALockThatIsHeldThroughANewEpochStaysHeld) {
  const Process alice = holder("job", {"--lease", "500ms"});
  const std::string claim = claim_of("job");
  ASSERT_EQ(pawl({"epoch", "new"}).code, 0);
  EXPECT_EQ(pawl({"run", "--wait", "1s", "job", "--", "true"}).code, 124);
  EXPECT_EQ(claim_of("job"), claim);
}

TEST_F(CliInspect, ThereMustBeSomethingToRevoke) {
  const Ended nobody = pawl({"revoke", "job"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_EQ(nobody.err, "pawl: nobody holds \"job\"\n");
  const Process alice = holder("job");
  const Ended wrong = pawl({"revoke", "--claim", "zzz", "job"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err, "pawl: no claim \"zzz\" holds or awaits \"job\"\n");
}

TEST_F(CliInspect, AClaimIsKnownByTheBeginningOfItsId) {
  Process alice = holder("job");
  const Ended revoked = pawl({"revoke", "--now", "--kind", "mutex", "--claim", claim_of("job").substr(0, 10), "job"});
  EXPECT_EQ(revoked.code, 0) << revoked.err;
  EXPECT_THAT(revoked.out, StartsWith("taken away: \"job\": "));
  EXPECT_EQ(alice.wait().code, 122);
}

TEST_F(CliInspect, AWaiterCanBeTakenOutOfTheQueueButNotAsked) {
  const Process alice = holder("job");
  Process bob = start({"run", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  std::string claim = of_json({"show", "--json", "job"}, "d['locks'][0]['waiters'][0]['claim']");
  claim.pop_back();
  const Ended asked = pawl({"revoke", "--claim", claim, "job"});
  EXPECT_EQ(asked.code, 125);
  EXPECT_THAT(asked.err, HasSubstr("waits and holds nothing that it could let go; --now takes it out of the queue"));
  EXPECT_EQ(pawl({"revoke", "--now", "--claim", claim, "job"}).code, 0);
  EXPECT_NE(bob.wait().code, 0);
}

/// A lock with so many claims that two ids begin with the same digit: there are sixteen of them.
class CliAmbiguous : public CliInspect {
 protected:
  void SetUp() override {
    while (processes_.size() < 17 && digit_.empty()) {
      if (processes_.empty()) {
        processes_.push_back(holder("job"));
      } else {
        processes_.push_back(start({"run", "job", "--", "true"}));
        ASSERT_TRUE(queued("job", processes_.size() - 1));
      }
      digit_ = of_json({"show", "--json", "job"},
                       "([c for c in '0123456789abcdef' if sum(x['claim'][0] == c for l in d['locks'] "
                       "for x in l['holders'] + l['waiters']) > 1] + [''])[0]");
      digit_.pop_back();
    }
  }
  std::vector<Process> processes_;
  std::string digit_;
};

TEST_F(CliAmbiguous, WhereNobodyCanBeAskedTheClaimsAreListed) {
  const Ended both = pawl({"revoke", "--now", "--claim", digit_, "job"});
  EXPECT_EQ(both.code, 125);
  EXPECT_THAT(both.err, MatchesRegex("pawl: \"job\" can mean 2 claims, say which one with --claim or --kind: " +
                                     digit_ + "[0-9a-f]{31} \\(mutex, .*; " + digit_ + "[0-9a-f]{31} \\(mutex, .*\n"));
}

TEST_F(CliAmbiguous, OnATerminalOneIsAskedWhich) {
  const Words command{PAWL_CLI, "revoke", "--now", "--claim", digit_, "job"};
  const Words environment{"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()};
  Terminal nobody(command, environment);
  ASSERT_TRUE(nobody.says("Which one (1-2, Enter for none)? "));
  nobody.type("\n");
  EXPECT_EQ(nobody.wait(), 1);
  EXPECT_THAT(nobody.screen(), HasSubstr("nothing was revoked"));

  Terminal second(command, environment);
  ASSERT_TRUE(second.says("Which one (1-2, Enter for none)? "));
  second.type("2\n");
  EXPECT_EQ(second.wait(), 0);
  EXPECT_THAT(second.screen(), HasSubstr("taken out of the queue of \"job\": "));
}

TEST_F(CliInspect, SchemesAndVersionNeedNoStore) {
  const Words nothing{"PATH=/usr/bin:/bin", "PAWL_STORE=nonsense"};
  EXPECT_THAT(start_with(nothing, {"schemes"}).wait().out, AllOf(StartsWith("STORE "), HasSubstr("\nfile ")));
  EXPECT_THAT(start_with(nothing, {"schemes", "--markdown"}).wait().out,
              AllOf(StartsWith("| store | scheme | fair | "), HasSubstr("\n| file | `queue` | yes | ")));
  EXPECT_THAT(start_with(nothing, {"version"}).wait().out, MatchesRegex("pawl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(of_json({"schemes", "--json"}, "d['version'], d['schemes'][0]['fair']"), "1 True\n");
}

}  // namespace
}  // namespace pawl::test
