#include "apps/cli/context.hpp"
#include "apps/cli/temporary_folder.hpp"
#include "apps/cli/torture/run.hpp"
#include "apps/cli/torture/worker.hpp"
#include "base/url.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

struct TortureOptions {
  std::int64_t seconds = 60;
  std::size_t workers = 5;
  std::optional<std::uint64_t> seed = {};
  std::optional<Duration> lease = {};
  std::string scheme = {};
};

/// Without the password.
std::string title_of(const base::Url& url, const std::string& scheme) {
  return url.scheme + (scheme.empty() ? "" : "/" + scheme);
}

torture::Plan plan_of(const TortureOptions& options, const Context& context, const std::filesystem::path& folder) {
  torture::Plan plan;
  plan.url = context.store().value_or("file://" + (folder / "store").string());
  const base::Url url = value_or_fail(base::Url::parse(plan.url));
  if (url.scheme == "memory") throw Failure{own_failure, "processes cannot share a memory store; name another one"};
  plan.title = title_of(url, options.scheme);
  plan.seed = options.seed ? *options.seed : std::random_device{}();
  plan.time = std::chrono::seconds(options.seconds);
  plan.crew.command = {"torture-worker"};
  plan.crew.places = options.workers;
  plan.crew.url = [store = plan.url](std::size_t) { return store; };
  plan.crew.orders.folder.path = folder;
  // Not the seed alone: another run with that seed may be going on.
  plan.crew.orders.run = fmt::format("{}-{:08x}", plan.seed, std::random_device{}());
  plan.crew.orders.lease = std::chrono::ceil<std::chrono::milliseconds>(options.lease.value_or(2s));
  plan.crew.orders.scheme = options.scheme;
  Client client = value_or_fail(Client::open(plan.url, {.scheme = options.scheme}));
  plan.crew.orders.kinds = torture::kinds_of(client, plan.crew.orders.run);
  return plan;
}

void torture_store(const TortureOptions& options, Context& context) {
  const TemporaryFolder folder("pawl-torture");
  try {
    const torture::Plan plan = plan_of(options, context, folder.path());
    fmt::print("{} workers contend for locks of {} for {} s, and are stopped and killed; seed {}.\n", options.workers,
               plan.title, options.seconds, plan.seed);
    std::fflush(stdout);
    const torture::Outcome outcome = torture::play(plan);
    fmt::print("\n{}", torture::report(plan, outcome));
    context.exit_code = outcome.complaints.empty() ? 0 : answer_no;
  } catch (const Exception& error) {
    throw Failure{exit_code_of(error.errc()), error.what()};
  } catch (const std::system_error& error) {
    throw Failure{own_failure, error.what()};
  }
}

void add_worker(CLI::App& app, Context& context) {
  CLI::App* worker = app.add_subcommand("torture-worker", "One worker of pawl torture")->group("");
  const auto words = std::make_shared<std::vector<std::string>>();
  worker->add_option("WORDS", *words)->required();
  worker->callback([words, &context] { context.exit_code = torture::work(torture::Orders::parse(*words)); });
}

}  // namespace

void add_torture(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("torture", "Stop and kill processes that hold locks, and judge what they saw");
  const auto options = std::make_shared<TortureOptions>();
  command->add_option("--seconds", options->seconds, "How long; default 60")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--workers", options->workers, "How many processes; default 5")
      ->option_text("N")
      ->check(CLI::Range(2, 64));
  command->add_option("--seed", options->seed, "What is left to chance follows from it; default:\na new one, printed")
      ->option_text("N");
  add_duration(*command, "--lease", options->lease, "The lease of their locks; default 2s");
  add_scheme(*command, options->scheme);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl torture [OPTIONS]",
           "Processes take locks, look at valid(), and write through a fence, while they are stopped\n"
           "and killed. Afterwards their logs are judged: no two believed in one lock at a time,\n"
           "tokens grew, no overtaken write was admitted, everybody got the locks again, and nothing\n"
           "is left in the store. Make your servers and network fail meanwhile; a store that loses\n"
           "its data does not keep all of that (pawl's guarantees say what is left). The locks have\n"
           "names that begin with \"torture-\". Without a store given, a file store in a temporary\n"
           "folder is tortured.\n"
           "\n"
           "Exit code 0: no promise was broken; 1: one was, and the report says which.\n"
           "\n"
           "Examples:\n"
           "  pawl torture --store redis://db7:6379/0 --seconds 600\n"
           "  pawl torture --store zookeeper://zk1,zk2,zk3 --workers 12 --lease 5s");
  command->callback([options, &context] { torture_store(*options, context); });
  add_worker(app, context);
}

}  // namespace pawl::cli
