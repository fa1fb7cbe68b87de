#include "tests/process/cli.hpp"

#include <regex>
#include <string>

/// What stands in several places in the same words.
namespace pawl::test {
namespace {

using testing::HasSubstr;

/// In lower case, with one blank for all white space, and without the marks of the manual page.
std::string words_of(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
  text = std::regex_replace(text, std::regex(R"(\\f[BRI])"), "");
  text = std::regex_replace(text, std::regex(R"(\s+)"), " ");
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST_F(CliTest, ThePromiseStandsWordForWordInHelpManualAndDocs) {
  const std::string promise =
      "until every descendant of the command is gone, no other client is granted the lock, unless both pawl processes "
      "are "
      "stopped or killed, everything is frozen past the lease, or a descendant cannot be killed (another user's, stuck "
      "in "
      "the kernel) when the lease ends; use --lock-delay or a fence for those. ";
  const std::string docs = PAWL_SOURCE "/docs/";
  EXPECT_THAT(words_of(pawl({"run", "--help"}).out), HasSubstr(promise));
  EXPECT_THAT(words_of(read_file(docs + "pawl.1")), HasSubstr(promise));
  EXPECT_THAT(words_of(read_file(docs + "command.md")), HasSubstr(promise));
  const std::string handed_over = "work that is handed to systemd-run, docker, at or a running tmux is no descendant";
  EXPECT_THAT(words_of(pawl({"run", "--help"}).out), HasSubstr(handed_over));
  EXPECT_THAT(words_of(read_file(docs + "pawl.1")), HasSubstr(handed_over));
  EXPECT_THAT(words_of(read_file(docs + "command.md")), HasSubstr(handed_over));
}

}  // namespace
}  // namespace pawl::test
