#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"
#include "base/lock_name.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace pawl::cli {

namespace {

struct LsOptions {
  std::string prefix = {};
  std::string scheme = {};
  bool json = false;
};

/// How much of it the holders have, where they need not have all.
std::string format_share(const LockView& view) {
  if (view.kind == Kind::permits) return fmt::format(" ({} of {} permits)", permits_held(view), view.permits);
  return view.holders.front().mode == Mode::shared ? " (shared)" : "";
}

std::string holder_of(const LockView& view) {
  if (view.holders.empty()) return view.shut_for > Duration::zero() ? "nobody: shut" : "nobody";
  std::string text = format_who(view.holders.front());
  if (view.holders.size() > 1) text += fmt::format(" and {} more", view.holders.size() - 1);
  return text + format_share(view);
}

Row row_of(const LockView& view) {
  const ClaimView* holder = view.holders.empty() ? nullptr : &view.holders.front();
  return {base::printable(view.name, 60), std::string(to_string(view.kind)), std::to_string(view.holders.size()),
          std::to_string(view.waiters.size()),
          // Of a client of another library only its presence is known.
          holder != nullptr && !holder->owner.foreign ? format_age(holder->age) : "-",
          holder != nullptr && holder->token != Token() ? holder->token.to_string() : "-", holder_of(view)};
}

void ls(const LsOptions& options, const Context& context) {
  Client client = open_client(context, {.scheme = options.scheme});
  std::vector<LockView> views = value_or_fail(client.list(options.prefix));
  // The kinds of one name side by side.
  std::stable_sort(views.begin(), views.end(),
                   [](const LockView& one, const LockView& other) { return one.name < other.name; });
  if (options.json) {
    fmt::print("{}", json_document("\"locks\": " + json_of(views)));
  } else if (views.empty()) {
    const std::string which = options.prefix.empty() ? "" : " whose name begins with " + in_quotes(options.prefix);
    fmt::print(stderr, "pawl: no lock{} is in use\n", which);
  } else {
    std::vector<Row> rows{{"NAME", "KIND", "HOLDERS", "WAITING", "HELD FOR", "TOKEN", "HELD BY"}};
    for (const LockView& view : views) rows.push_back(row_of(view));
    fmt::print("{}", format_table(rows));
  }
}

}  // namespace

void add_ls(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("ls", "List the locks in use");
  const auto options = std::make_shared<LsOptions>();
  command->add_option("PREFIX", options->prefix, "Only locks whose name begins with this")->option_text(" ");
  add_scheme(*command, options->scheme);
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl ls [OPTIONS] [PREFIX]",
           "HELD FOR and TOKEN are those of the first holder, where there are several.\n"
           "\n"
           "Examples:\n"
           "  pawl ls\n"
           "  pawl ls billing/\n"
           "  pawl ls --json | jq -r '.locks[].name'");
  command->callback([options, &context] { ls(*options, context); });
}

}  // namespace pawl::cli
