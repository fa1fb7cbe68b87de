#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/run/signals.hpp"
#include "apps/cli/run/waiting.hpp"
#include "apps/cli/views.hpp"
#include "base/lock_name.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::cli {

namespace {

struct LeaderOptions {
  std::string name = {};
  std::string scheme = {};
  bool follow = false;
  bool json = false;
};

std::string members_of(const LeaderOptions& options, const std::optional<Leader>& leader) {
  return fmt::format("\"name\": {}, \"encoded_name\": {}, \"leader\": {}", json_quote(options.name),
                     json_quote(base::encode_name(options.name)), leader ? json_of(*leader) : "null");
}

int print_leader(const LeaderOptions& options, const Context& context) {
  Client client = open_client(context, {.scheme = options.scheme});
  const std::optional<Leader> leader = value_or_fail(client.election(options.name).leader());
  if (options.json) {
    fmt::print("{}", json_document(members_of(options, leader)));
  } else if (leader) {
    fmt::print("{}\n", as_line(leader->value));
  } else {
    throw Failure{answer_no, fmt::format("nobody leads {}", in_quotes(options.name))};
  }
  return leader ? 0 : answer_no;
}

void print_change(const LeaderOptions& options, const std::optional<Leader>& leader) {
  if (options.json) {
    fmt::print("{}", json_line(members_of(options, leader)));
  } else {
    fmt::print("{}\n", leader ? "leader " + as_line(leader->value) : "nobody");
  }
  if (std::fflush(stdout) != 0) throw Failure{own_failure, "the output could not be written"};
}

/// Until it is stopped.
void print_changes(const LeaderOptions& options, const Context& context, const std::function<void()>& asking,
                   const std::stop_token& stop) {
  Client client = open_client(context, {.scheme = options.scheme});
  Observation changes = client.election(options.name).observe();
  asking();
  while (true) {
    const Result<std::optional<Leader>> change = changes.next({}, stop);
    if (change.code() == Errc::cancelled) return;
    print_change(options, value_or_fail(change));
  }
}

/// Ends with 128 + n and without a word, as by signal n.
int follow(const LeaderOptions& options, const Context& context) {
  const Signals signals;
  Waiting waiting(
      [&](const auto& asking, const std::stop_token& stop) { print_changes(options, context, asking, stop); },
      [](std::optional<int> signal) { return by_signal + signal.value_or(0); });
  const std::optional<int> signal = waiting.finish(signals, STDOUT_FILENO, {});
  return signal ? by_signal + *signal : 0;
}

int leader(const LeaderOptions& options, const Context& context) {
  if (const auto name = base::LockName::make(options.name); !name) throw failure_of(name.error());
  return options.follow ? follow(options, context) : print_leader(options, context);
}

}  // namespace

void add_leader(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("leader", "Print who leads an election");
  const auto options = std::make_shared<LeaderOptions>();
  add_name(*command, options->name);
  command->add_flag("-f,--follow", options->follow, "Print how it is, and then every change, until interrupted");
  add_scheme(*command, options->scheme);
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl leader [OPTIONS] NAME",
           "Prints the value that the leader has campaigned with, on one line: control characters\n"
           "and bytes that are no text are \\n, \\t, \\xHH and the like, a backslash is \\\\. \"pawl show\"\n"
           "tells more: host, process, token, candidates.\n"
           "\n"
           "With --follow there is one line for each change, each once and in order: \"leader VALUE\",\n"
           "or \"nobody\" while nobody leads. With --json it is one object on each line; its \"leader\"\n"
           "is null while nobody leads.\n"
           "\n"
           "What is printed may be over already: a resource asks its fence.\n"
           "\n"
           "Exit code: 0 somebody leads, 1 nobody does; --follow ends with 128+n by signal n.\n"
           "\n"
           "Examples:\n"
           "  curl \"http://$(pawl leader api)/status\"\n"
           "  pawl leader --follow api | while read -r who value; do echo \"$who: $value\"; done\n"
           "  pawl leader --follow --json api | jq --unbuffered -r .leader.value");
  command->callback([options, &context] { context.exit_code = leader(*options, context); });
}

}  // namespace pawl::cli
