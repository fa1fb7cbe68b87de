#include "tests/process/cli.hpp"

#include <unistd.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

/// The completions of three shells know what --help knows: nothing here is a list of its own.
namespace pawl::test {
namespace {

using testing::IsSupersetOf;

const std::string folder = PAWL_SOURCE "/apps/cli/completion/";

class CliCompletion : public CliTest {
 protected:
  /// What the help lists between that heading and the examples.
  std::string section(const Words& words, const std::string& heading) const {
    const std::string help = pawl(words).out;
    const std::size_t begin = help.find("\n" + heading + ":\n");
    EXPECT_NE(begin, std::string::npos) << help;
    return help.substr(begin, help.find("\nExamples", begin) - begin);
  }
  Words subcommands() const {
    Words names;
    const std::string text = section({"--help"}, "Subcommands");
    const std::regex name("\n  ([a-z]+) ");
    for (std::sregex_iterator at(text.begin(), text.end(), name); at != std::sregex_iterator(); ++at) {
      names.push_back(at->str(1));
    }
    EXPECT_GT(names.size(), 10U) << text;
    return names;
  }
  /// "--wait", "-q", ...: each spelling but -h.
  std::set<std::string> options_of(const std::string& subcommand) const {
    std::set<std::string> found;
    const std::string text = section({subcommand, "--help"}, "Options");
    const std::regex line("\n  (-[a-zA-Z,-]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at) {
      std::istringstream spellings(at->str(1));
      for (std::string one; std::getline(spellings, one, ',');) found.insert(one);
    }
    found.erase("-h");
    EXPECT_TRUE(found.contains("--help")) << text;
    return found;
  }
  std::set<std::string> stores() const {
    const std::string sentence = pawl({"--store", "nothing:", "ls"}).err;
    const std::size_t begin = sentence.find("knows: ") + 7;
    std::set<std::string> found;
    std::istringstream names(sentence.substr(begin, sentence.find('\n') - begin));
    for (std::string one; std::getline(names >> std::ws, one, ',');) found.insert(one + ":");
    EXPECT_TRUE(found.contains("memory:")) << sentence;
    return found;
  }

  /// What bash offers for the last of these words.
  std::set<std::string> bash(const std::string& words) const {
    const std::string script = "source '" + folder + "pawl.bash'\nCOMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_pawl; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Ended ended = Process({"bash", "--norc", "-c", script}, {"PATH=/usr/bin:/bin"}, folder_.path()).wait();
    std::istringstream lines(ended.out);
    std::set<std::string> offered;
    for (std::string one; std::getline(lines, one);) offered.insert(one);
    return offered;
  }
};

std::set<std::string> words_in(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex word(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), word); at != std::sregex_iterator(); ++at) {
    found.insert(at->str(1));
  }
  return found;
}

/// The options of a subcommand in the zsh script: those in its branch, and in the arrays that it names.
std::set<std::string> zsh(const std::string& script, const std::string& subcommand) {
  std::smatch branch;
  if (!std::regex_search(script, branch,
                         std::regex("\n        (?:[a-z]+ \\| )*" + subcommand + "(?: \\| [a-z]+)*\\)([^;]*);;"))) {
    return {};
  }
  std::string text = branch.str(1);
  for (const std::string& array : words_in(text, "\\$([a-z]+)")) {
    std::smatch value;
    if (std::regex_search(script, value, std::regex("\n  " + array + "=\\(([^\n]*(?:\n    [^\n]*)*)"))) {
      text += value.str(1);
    }
  }
  std::set<std::string> found = words_in(text, "['*){,]-?(--[a-z-]+)");
  found.merge(words_in(text, "['){,](-[a-zA-Z])[\\[,}]"));
  return found;
}

/// The same of the fish script: in the lines that name the subcommand, or none.
std::set<std::string> fish(const std::string& script, const std::string& subcommand) {
  std::set<std::string> found;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    const bool for_all = line.find(" -n ") == std::string::npos;
    if (!for_all && !std::regex_search(line, std::regex("__pawl_in [a-z ]*\\b" + subcommand + "\\b"))) continue;
    for (const std::string& name : words_in(line, " -l ([a-z-]+)")) found.insert("--" + name);
    for (const std::string& name : words_in(line, " -s ([a-zA-Z])")) found.insert("-" + name);
  }
  return found;
}

TEST_F(CliCompletion, KnowsEverySubcommandAndOption) {
  const std::string zsh_script = read_file(folder + "_pawl");
  const std::string fish_script = read_file(folder + "pawl.fish");
  const Words names = subcommands();
  EXPECT_THAT(bash("pawl ''"), IsSupersetOf(names));
  EXPECT_THAT(bash("pawl help ''"), IsSupersetOf(names));
  EXPECT_THAT(words_in(zsh_script, "\n        ['\"]([a-z]+):"), IsSupersetOf(names));
  EXPECT_THAT(words_in(fish_script, "subcommands\" -a ([a-z]+)"), IsSupersetOf(names));
  for (const std::string& name : names) {
    if (name == "help") continue;  // "pawl help --help" is "pawl --help"
    const std::set<std::string> options = options_of(name);
    EXPECT_THAT(bash("pawl " + name + " -"), IsSupersetOf(options)) << name;
    EXPECT_THAT(zsh(zsh_script, name), IsSupersetOf(options)) << name;
    EXPECT_THAT(fish(fish_script, name), IsSupersetOf(options)) << name;
  }
}

TEST_F(CliCompletion, OffersEveryStoreThatThisBuildKnows) {
  const std::string offered[] = {
      testing::PrintToString(bash("pawl --store ''")),
      std::regex_replace(read_file(folder + "_pawl"), std::regex(R"(\\:)"), ":"),
      read_file(folder + "pawl.fish"),
  };
  for (const std::string& store : stores()) {
    for (const std::string& text : offered) {
      EXPECT_TRUE(
          std::regex_search(text, std::regex("[^a-z+]" + std::regex_replace(store, std::regex(R"(\+)"), "\\+"))))
          << store;
    }
  }
  EXPECT_THAT(bash("pawl run --store redis+u"), testing::ElementsAre("redis+unix:///"));
}

}  // namespace
}  // namespace pawl::test
