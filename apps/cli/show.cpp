#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

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

/// How much of the lock a claim is for, where it need not be all.
std::string share_of(const ClaimView& claim, const LockView& view) {
  if (view.kind == Kind::permits) return fmt::format("{} of {} permits", claim.permits, view.permits);
  return claim.mode == Mode::shared ? "shared" : "";
}

void print_holder(const ClaimView& holder, const LockView& view) {
  const std::string share = share_of(holder, view);
  // Of a client of another library only its presence is known.
  const std::string age = holder.owner.foreign ? "" : " for " + format_age(holder.age);
  fmt::print("  {}{} by {}{}\n", view.kind == Kind::election ? "led" : "held", age, format_who(holder),
             share.empty() ? "" : ", " + share);
  if (holder.release_requested) fmt::print("    asked to let go (pawl revoke)\n");
  if (view.kind == Kind::election) fmt::print("    value  {}\n", as_line(holder.value));
  if (view.kind == Kind::permits) fmt::print("    slots  {}\n", format_slots(holder.slots));
  if (holder.token != Token()) fmt::print("    token  {}\n", holder.token.to_string());
  if (!holder.claim.empty()) fmt::print("    claim  {}\n", holder.claim);
  fmt::print("    lease  {} left, unless renewed\n", format_age(holder.lease_left));
}

Row row_of(std::size_t place, const ClaimView& waiter, const LockView& view) {
  std::string who = format_who(waiter);
  if (const std::string share = share_of(waiter, view); !share.empty()) who += " (" + share + ")";
  if (view.kind == Kind::election) who += " (value " + in_quotes(waiter.value) + ")";
  return {fmt::format("    {}", place), format_age(waiter.age), waiter.claim, who};
}

void print_waiters(const LockView& view) {
  if (view.waiters.empty()) return fmt::print("  nobody waits\n");
  fmt::print("  {} waiting\n", view.waiters.size());
  std::vector<Row> rows{{"   ", "FOR", "CLAIM", "WHO"}};
  for (std::size_t i = 0; i < view.waiters.size(); ++i) rows.push_back(row_of(i + 1, view.waiters[i], view));
  fmt::print("{}", format_table(rows));
}

void print_view(const LockView& view) {
  fmt::print("{} ({}, scheme {})\n", in_quotes(view.name), to_string(view.kind), view.scheme);
  if (view.shut_for > Duration::zero()) {
    // Of a semaphore, or of a lock that it shared, that need not be all.
    fmt::print("  what a failed holder had is shut for another {}: it had asked for a lock-delay\n",
               format_age(view.shut_for));
  } else if (view.holders.empty()) {
    fmt::print("  nobody {}\n", view.kind == Kind::election ? "leads" : "holds it");
  }
  if (view.kind == Kind::permits) fmt::print("  {} of {} permits are taken\n", permits_held(view), view.permits);
  for (const ClaimView& holder : view.holders) print_holder(holder, view);
  print_waiters(view);
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
           "Kinds never meet, so one name can be several locks: all that are in use are shown.\n"
           "Waiters stand in the order in which they will be served, where the scheme is fair.\n"
           "\n"
           "Examples:\n"
           "  pawl show backup\n"
           "  pawl show --json backup | jq '.locks[0].waiters | length'");
  command->callback([options, &context] { show(*options, context); });
}

}  // namespace pawl::cli
