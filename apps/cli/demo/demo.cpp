#include "apps/cli/context.hpp"
#include "apps/cli/demo/screen.hpp"
#include "apps/cli/temporary_folder.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <signal.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

struct DemoOptions {
  int workers = 4;
  std::optional<Duration> time = {};
};

void say_goodbye(Crew& crew, Play& play) {
  for (const auto& member : crew.members()) Crew::order(*member, "quit");
  for (const auto until = Clock::now() + 10s; crew.working() && Clock::now() < until;) {
    for (const Report& report : crew.listen(100ms)) play.heard(report);
  }
}

int demo(const DemoOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // a worker that is gone shows by the end of its reports
  const TemporaryFolder temporary("pawl-demo");
  const DemoFolder folder{temporary.path()};
  fmt::print(
      "{} processes take turns with one lock, in {}.\nEach adds to a ledger behind a fence, which is\n"
      "synced to disk with every write: the disk sets the pace, not the lock (see \"pawl bench\").\n\n",
      options.workers, folder.store());
  Screen screen;
  Crew crew(folder);
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(options.time.value_or(8s));
  Play play(crew, options.workers, time, [&screen](const std::string& sentence) { screen.tell(sentence); });
  while (play.go_on()) {
    for (const Report& report : crew.listen(50ms)) play.heard(report);
    screen.progress(crew, play);
  }
  say_goodbye(crew, play);
  screen.end_progress();
  return print_outcome(crew, play, Ledger(folder.ledger()).audit()) ? 0 : answer_no;
}

}  // namespace

void add_demo(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("demo", "Watch processes contend for a lock, die, and be overtaken");
  const auto options = std::make_shared<DemoOptions>();
  command->add_option("--workers", options->workers, "How many processes; default 4")
      ->option_text("N")
      ->check(CLI::Range(3, 64));
  add_duration(*command, "--time", options->time, "How long; default 8s");
  describe(*command, "pawl demo [OPTIONS]",
           "On the file store, in a temporary folder. One holder is killed with -9, another one is\n"
           "stopped past its lease between acquiring and writing: when it goes on, the fence must\n"
           "refuse its write. Exit code 1 if the ledger is wrong, or if no stale write was refused.\n"
           "\n"
           "Example:\n"
           "  pawl demo --workers 8 --time 20s");
  command->callback([options, &context] { context.exit_code = demo(*options); });

  CLI::App* worker = app.add_subcommand("demo-worker", "One worker of the demo")->group("");
  const auto folder = std::make_shared<std::string>();
  const auto name = std::make_shared<std::string>();
  worker->add_option("FOLDER", *folder)->required();
  worker->add_option("WORKER", *name)->required();
  worker->callback([folder, name, &context] { context.exit_code = work(DemoFolder{*folder}, *name); });
}

}  // namespace pawl::cli
