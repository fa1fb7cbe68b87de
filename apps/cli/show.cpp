#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

namespace pawl::cli {

namespace {

struct ShowOptions {
  std::string name = {};
  std::string scheme = {};
  std::optional<Kind> kind = {};
  bool json = false;
};

void print_holder(const ClaimView& holder) {
  const char* mode = holder.mode == Mode::shared ? ", shared" : "";
  fmt::print("  held for {} by {}{}\n", format_age(holder.age), format_who(holder), mode);
  if (holder.release_requested) fmt::print("    asked to let go (pawl revoke)\n");
  fmt::print("    token  {}\n", holder.token.to_string());
  fmt::print("    claim  {}\n", holder.claim);
  fmt::print("    lease  {} left, unless renewed\n", format_age(holder.lease_left));
}

void print_waiters(const std::vector<ClaimView>& waiters) {
  if (waiters.empty()) return fmt::print("  nobody waits\n");
  fmt::print("  {} waiting\n", waiters.size());
  std::vector<Row> rows{{"   ", "FOR", "CLAIM", "WHO"}};
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    const ClaimView& waiter = waiters[i];
    const std::string mode = waiter.mode == Mode::shared ? " (shared)" : "";
    rows.push_back({fmt::format("    {}", i + 1), format_age(waiter.age), waiter.claim, format_who(waiter) + mode});
  }
  fmt::print("{}", format_table(rows));
}

void print_view(const LockView& view) {
  fmt::print("{} ({}, scheme {})\n", in_quotes(view.name), to_string(view.kind), view.scheme);
  if (view.shut_for > Duration::zero()) {
    fmt::print("  shut for another {}: its last holder failed, and asked for a lock-delay\n",
               format_age(view.shut_for));
  } else if (view.holders.empty()) {
    fmt::print("  nobody holds it\n");
  }
  for (const ClaimView& holder : view.holders) print_holder(holder);
  print_waiters(view.waiters);
}

void show(const ShowOptions& options, const Context& context) {
  Client client = open_client(context, {.scheme = options.scheme});
  const std::vector<LockView> views = views_of(client, options.name, options.kind);
  if (options.json) return fmt::print("{}", json_document("\"locks\": " + json_of(views)));
  if (views.empty()) fmt::print("{} is free: nobody holds it or waits for it\n", in_quotes(options.name));
  for (const LockView& view : views) print_view(view);
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("show", "Show who holds a lock and who waits for it");
  const auto options = std::make_shared<ShowOptions>();
  add_name(*command, options->name);
  add_kind(*command, options->kind);
  add_scheme(*command, options->scheme);
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl show [OPTIONS] NAME",
           "Waiters stand in the order in which they will be served, where the scheme is fair.\n"
           "\n"
           "Examples:\n"
           "  pawl show backup\n"
           "  pawl show --json backup | jq '.locks[0].waiters | length'");
  command->callback([options, &context] { show(*options, context); });
}

}  // namespace pawl::cli
