#include "apps/cli/torture/run.hpp"
#include "apps/cli/torture/worker.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/torture/network.hpp"
#include "tests/torture/porcupine.hpp"
#include "tests/torture/stage.hpp"

#include <fmt/core.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

/// Tortures stores on servers of its own: `make torture`.
///
/// usage: pawl_torture [--store NAME] [--seconds N] [--seed N] [--workers N] [--lease MS] [--faults TEXT] [--flaw NAME] [--porcupine PROGRAM]
///        --faults: of those of servers and network, only these: "late replies"
///        --store: one of those below, the beginning of several ("redis"), or "all"
/// Exit code 0: no promise was broken, 1: one was, 2: bad usage.

namespace {

using namespace pawl;
using namespace pawl::torture;

struct Options {
  std::string store = "all";
  std::int64_t seconds = 120;
  std::uint64_t seed = std::random_device{}();
  std::size_t workers = 5;
  std::int64_t lease = 2000;
  std::string faults = {};
  Flaw flaw = Flaw::none;
  std::string porcupine = {};
};

Flaw flaw_of(const std::string& name) {
  if (name == "ignores_valid") return Flaw::ignores_valid;
  if (name == "ignores_fence") return Flaw::ignores_fence;
  throw std::invalid_argument("no flaw: " + name);
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& name = words[i];
    const std::string& value = words.at(i + 1);
    if (name == "--store")
      options.store = value;
    else if (name == "--seconds")
      options.seconds = std::stoll(value);
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--workers")
      options.workers = std::stoul(value);
    else if (name == "--lease")
      options.lease = std::stoll(value);
    else if (name == "--faults")
      options.faults = value;
    else if (name == "--flaw")
      options.flaw = flaw_of(value);
    else if (name == "--porcupine")
      options.porcupine = value;
    else
      throw std::invalid_argument("unknown option: " + name);
  }
  return options;
}

/// In memory where that is possible: the files of the fences are synced twice for each write, and are not what is tested.
test::TemporaryFolder make_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? test::TemporaryFolder(memory) : test::TemporaryFolder();
}

Plan plan_of(const Options& options, const StageEntry& entry, Stage& stage, Network& network,
             const std::string& folder) {
  Plan plan;
  plan.title = entry.name;
  plan.seed = options.seed;
  plan.time = std::chrono::seconds(options.seconds);
  plan.url = stage.url(stage.ports());
  plan.faults = stage.faults();
  if (!stage.ports().empty()) {
    for (Fault& fault : network.faults()) plan.faults.push_back(std::move(fault));
  }
  std::erase_if(plan.faults, [&](const Fault& fault) { return fault.name.find(options.faults) == std::string::npos; });
  plan.leftovers = [&stage] { return stage.leftovers(); };
  plan.crew.command = {"worker"};
  plan.crew.places = options.workers;
  plan.crew.url = [&stage, &network](std::size_t place) { return stage.url(network.ports(place)); };
  plan.crew.orders = {.folder = {folder},
                      .run = std::to_string(options.seed),
                      .lease = Milliseconds(options.lease),
                      .scheme = entry.scheme,
                      .flaw = options.flaw,
                      .forgets = stage.forgets()};
  Client client(plan.url, {.scheme = entry.scheme});
  plan.crew.orders.kinds = kinds_of(client, plan.crew.orders.run);
  return plan;
}

/// The logs of a run that is not clean outlive it.
void keep(const std::string& folder, const StageEntry& entry, std::uint64_t seed) {
  std::string name = fmt::format("torture-{}-{}", entry.name, seed);
  std::replace(name.begin(), name.end(), '/', '-');
  const std::filesystem::path to = std::filesystem::temp_directory_path() / name;
  std::filesystem::copy(folder, to,
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  fmt::print("  {:<14}{}\n", "logs", to.string());
}

bool torture_one(const Options& options, const StageEntry& entry) {
  fmt::print("{}: {} s, seed {}\n", entry.name, options.seconds, options.seed);
  std::fflush(stdout);
  const test::TemporaryFolder folder = make_folder();
  const std::unique_ptr<Stage> stage = entry.start();
  Network network(options.workers, stage->ports(), Milliseconds(options.lease));
  const Plan plan = plan_of(options, entry, *stage, network, folder.path());
  Outcome outcome = play(plan);
  const std::string porcupine = ask_porcupine(options.porcupine, outcome.history, folder.path(), outcome.complaints);
  fmt::print("{}  {:<14}{}\n", report(plan, outcome), "porcupine", porcupine);
  if (!outcome.complaints.empty() && options.flaw == Flaw::none) keep(folder.path(), entry, options.seed);
  std::fflush(stdout);
  return outcome.complaints.empty();
}

int torture_all(const Options& options) {
  bool clean = true, found = false;
  for (const StageEntry& entry : stages()) {
    if (options.store != "all" && !std::string(entry.name).starts_with(options.store)) continue;
    found = true;
    clean = torture_one(options, entry) && clean;
  }
  if (!found) throw std::invalid_argument("no store of that name: " + options.store);
  return clean ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "worker") return work(Orders::parse({words.begin() + 1, words.end()}));
    ::signal(SIGPIPE, SIG_IGN);
    return torture_all(parse(words));
  } catch (const std::exception& error) {
    fmt::print(stderr, "pawl_torture: {}\n", error.what());
    return 2;
  }
}
