// Two candidates, one leader. The leader's process is killed, the other one takes over, and whoever watches sees it.
#include <pawl/pawl.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <string>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// Leads until it is killed.
void lead(const std::string& store) {
  auto client = pawl::Client::open(store).value();
  auto office = client.election("scheduler").campaign("10.0.0.1:8080");
  ::alarm(60);  // in case that nobody kills it
  ::pause();
}

/// Prints every change, until that one leads (empty: nobody). Its token.
std::optional<pawl::Token> watch(pawl::Observation& observation, const std::string& value) {
  for (;;) {
    auto change = observation.next(30s);
    if (!change) {
      std::fprintf(stderr, "%s\n", change.error().to_string().c_str());
      return std::nullopt;
    }
    const std::optional<pawl::Leader>& leader = *change;
    const std::string who = leader ? leader->value : "nobody";
    std::printf("%s leads\n", who.c_str());
    if (leader ? leader->value == value : value.empty()) return leader ? leader->token : pawl::Token();
  }
}

bool fail_over(const std::string& store, pid_t first_process) {
  auto client = pawl::Client::open(store).value();
  pawl::Election election = client.election("scheduler");
  pawl::Observation observation = election.observe();
  const auto first = watch(observation, "10.0.0.1:8080");

  auto campaign = std::async(std::launch::async, [&] { return election.campaign("10.0.0.2:8080", {.wait = 30s}); });
  ::kill(first_process, SIGKILL);
  const auto second = watch(observation, "10.0.0.2:8080");

  auto office = campaign.get();
  if (!office || !first || !second || office->token() != *second) return false;
  const bool fenced = *second > *first;  // what the first one may still send is refused by a fence
  const bool resigned = office->release().has_value();
  return fenced && resigned && watch(observation, "");
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "pawl-example-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string store = "file://" + folder;

  const pid_t first = ::fork();
  if (first == 0) {
    lead(store);
    std::exit(1);
  }
  const bool fine = fail_over(store, first);
  ::waitpid(first, nullptr, 0);
  fs::remove_all(folder);
  return fine ? 0 : 1;
}
