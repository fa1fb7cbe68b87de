#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <string>

/// A judge that never complains proves nothing: workers that break the rules on purpose.
namespace pawl::torture {

namespace {

using ::testing::HasSubstr;

struct Ended {
  std::string out = {};
  int code = -1;
};

Ended torture(const std::string& words) {
  FILE* pipe = ::popen((PAWL_TORTURE " --store file/queue --lease 200 --workers 3 " + words).c_str(), "re");
  Ended ended;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = ::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    ended.out.append(buffer.data(), size);
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// How many stops fall into a hold is a matter of chance, and of the machine: so there are several rounds.
Ended until_it_complains(const std::string& flaw, const std::string& oracle) {
  Ended ended;
  for (int round = 1; round <= 30 && ended.out.find("\n    " + oracle + ": ") == std::string::npos; ++round)
    ended = torture("--seconds 2 --seed " + std::to_string(round) + " --flaw " + flaw);
  return ended;
}

}  // namespace

#ifdef PAWL_WITH_FILE
TEST(TortureFlaws, AWorkerThatDoesNotLookAtValidOverlapsWithOthers) {
  const Ended ended = until_it_complains("ignores_valid", "overlap");
  EXPECT_THAT(ended.out, HasSubstr("\n    overlap: "));
  EXPECT_EQ(ended.code, 1);
}

TEST(TortureFlaws, AWorkerThatWritesPastTheFenceIsOvertaken) {
  const Ended ended = until_it_complains("ignores_fence", "overtaken");
  EXPECT_THAT(ended.out, HasSubstr("\n    overtaken: "));
  EXPECT_EQ(ended.code, 1);
}
#endif

TEST(TortureUsage, AStoreThatIsNotThereIsAnError) { EXPECT_EQ(torture("--store nothing").code, 2); }

}  // namespace pawl::torture
