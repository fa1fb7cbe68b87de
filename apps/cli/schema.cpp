#include "apps/cli/context.hpp"
#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace pawl::cli {

namespace {

void schema(bool apply, const Context& context) {
  const std::optional<std::string> text = context.store();
  if (!text) throw Failure{own_failure, "say which store: --store mysql://user@host/database"};
  base::RealRuntime& runtime = base::RealRuntime::process_wide();
  const base::Url url = value_or_fail(base::Url::parse(*text));
  const std::shared_ptr<store::Store> store = value_or_fail(store::open_store(url, runtime));
  const std::string script = store->schema();
  if (script.empty()) throw Failure{own_failure, url.redacted() + " has no tables to make: it needs no schema"};
  if (!apply) {
    fmt::print("{}", script);
    return;
  }
  const base::Deadline deadline = base::Deadline::in(runtime.now(), std::chrono::minutes(1));
  fmt::print("{}\n", value_or_fail(runtime.block_on(store->apply_schema(deadline))));
}

}  // namespace

void add_schema(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("schema", "Print or make the tables of a store in a database");
  const auto apply = std::make_shared<bool>(false);
  command->add_flag("--apply", *apply, "Make them now, or upgrade those of an older pawl");
  add_store_option(*command, context.store_after);
  describe(*command, "pawl schema [OPTIONS]",
           "Without --apply it asks no server, and prints statements for the server's own command\n"
           "line client, which make the tables and procedures or upgrade those of an older pawl.\n"
           "An upgrade is refused while clients are connected. A client that may do so makes missing\n"
           "tables by itself; it never upgrades any.\n"
           "\n"
           "Examples:\n"
           "  pawl schema --store mysql://admin@db7/locks | mariadb --user admin --password locks\n"
           "  pawl schema --store 'mysql://admin@db7/locks?password_file=/root/db7' --apply");
  command->callback([apply, &context] { schema(*apply, context); });
}

}  // namespace pawl::cli
