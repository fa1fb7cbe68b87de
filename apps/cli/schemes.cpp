#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "base/duration.hpp"
#include "store/registry.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

namespace {

using store::Capabilities;

/// One thing that a scheme can or cannot do: a column of the table, a field of the JSON.
struct Ability {
  std::string_view column;
  std::string_view field;
  std::string_view meaning;
  bool Capabilities::*value;
};

constexpr Ability abilities[] = {
    {"FAIR", "fair", "first come, first served between clients", &Capabilities::fair},
    {"WAKES", "wakes_waiters", "a waiter is told when its turn comes; otherwise it looks again",
     &Capabilities::wakes_waiters},
    {"CONTENTION", "knows_contention", "a holder is told whether others wait", &Capabilities::knows_contention},
    {"SHARED", "shared_mode", "readers hold together", &Capabilities::shared_mode},
    {"PERMITS", "permits", "semaphores", &Capabilities::permits},
    {"ELECTION", "election", "leaders with a value", &Capabilities::election},
    {"DELAY", "lock_delay", "stays shut for a while after its holder failed", &Capabilities::lock_delay},
    {"REVOKE", "revocable", "the holder can be asked to let go", &Capabilities::revocable},
    {"RESTART", "survives_restart", "holds and queue outlive a restart of the store", &Capabilities::survives_restart},
    {"BOUNDED", "bounded_by_lease",
     "no other client holds it before our lease is over by our own clock, unless the store loses its data or an "
     "operator "
     "takes the lock away",
     &Capabilities::bounded_by_lease},
};

std::string leases(const Capabilities& can) {
  return base::format_duration(can.shortest_lease) + " to " + base::format_duration(can.longest_lease);
}

Row header() {
  Row row{"STORE", "SCHEME"};
  for (const Ability& ability : abilities) row.emplace_back(ability.column);
  row.insert(row.end(), {"LEASE", "TOKEN FROM", "A DEAD CLIENT'S LOCK IS FREE"});
  return row;
}

Row row_of(const Capabilities& can) {
  Row row{std::string(can.store), std::string(can.scheme)};
  for (const Ability& ability : abilities) row.emplace_back(can.*ability.value ? "yes" : "-");
  row.push_back(leases(can));
  row.emplace_back(can.token_source);
  row.emplace_back(can.on_client_death);
  return row;
}

void print_table(const std::vector<const Capabilities*>& all) {
  std::vector<Row> rows{header()};
  for (const Capabilities* can : all) rows.push_back(row_of(*can));
  fmt::print("{}", format_table(rows));

  fmt::print("\nThe first scheme of a store is its default.\n");
  for (const Capabilities* can : all) fmt::print("  {}/{}: {}\n", can->store, can->scheme, can->summary);
  fmt::print("\n");
  for (const Ability& ability : abilities) fmt::print("  {:<10}  {}\n", ability.column, ability.meaning);
}

std::string json_of_scheme(const Capabilities& can) {
  const auto milliseconds = [](Duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d).count(); };
  std::string out = fmt::format("    {{\"store\": {}, \"scheme\": {}, \"summary\": {}", json_quote(can.store),
                                json_quote(can.scheme), json_quote(can.summary));
  for (const Ability& ability : abilities) out += fmt::format(", \"{}\": {}", ability.field, can.*ability.value);
  out += fmt::format(", \"shortest_lease_ms\": {}, \"longest_lease_ms\": {}", milliseconds(can.shortest_lease),
                     milliseconds(can.longest_lease));
  out += fmt::format(", \"token_source\": {}, \"on_client_death\": {}", json_quote(can.token_source),
                     json_quote(can.on_client_death));
  return out + fmt::format(", \"most_waiters\": {}, \"most_held\": {}}}", can.most_waiters, can.most_held);
}

void print_json(const std::vector<const Capabilities*>& all) {
  std::string rows;
  for (const Capabilities* can : all) rows += (rows.empty() ? "" : ",\n") + json_of_scheme(*can);
  fmt::print("{{\n  \"version\": 1,\n  \"schemes\": [\n{}\n  ]\n}}\n", rows);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

void print_markdown_row(const Row& row) {
  for (const std::string& cell : row) fmt::print("| {} ", cell);
  fmt::print("|\n");
}

void print_markdown_header(const Row& row) {
  print_markdown_row(row);
  for (std::size_t i = 0; i < row.size(); ++i) fmt::print("|---");
  fmt::print("|\n");
}

/// Two tables, for docs/guarantees.md: the abilities, and what takes words. Then what the headings mean.
void print_markdown(const std::vector<const Capabilities*>& all) {
  Row heading{"store", "scheme"};
  for (const Ability& ability : abilities) heading.push_back(lower(ability.column));
  print_markdown_header(heading);
  for (const Capabilities* can : all) {
    Row row{std::string(can->store), "`" + std::string(can->scheme) + "`"};
    for (const Ability& ability : abilities) row.emplace_back(can->*ability.value ? "yes" : "-");
    print_markdown_row(row);
  }
  fmt::print("\n");
  print_markdown_header(
      {"store", "scheme", "leases", "most waiters", "most held", "tokens from", "a dead client's lock is free"});
  for (const Capabilities* can : all) {
    const auto most = [](std::uint64_t limit) { return limit == 0 ? "as many as fit" : fmt::format("{}", limit); };
    print_markdown_row({std::string(can->store), "`" + std::string(can->scheme) + "`", leases(*can),
                        most(can->most_waiters), most(can->most_held), std::string(can->token_source),
                        std::string(can->on_client_death)});
  }
  fmt::print("\n");
  for (const Ability& ability : abilities) fmt::print("- *{}*: {}\n", lower(ability.column), ability.meaning);
  fmt::print("- *most held*: by one client, its waiters included\n");
}

}  // namespace

void add_schemes(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("schemes", "List the stores, their schemes, and what each can do");
  const auto json = std::make_shared<bool>(false);
  const auto markdown = std::make_shared<bool>(false);
  describe(*command, "pawl schemes [--json | --markdown]", "Example:\n  pawl schemes --json");
  add_json_flag(*command, *json);
  command->add_flag("--markdown", *markdown, "As docs/guarantees.md has it")->excludes("--json");
  command->callback([json, markdown] {
    if (*json) {
      print_json(store::all_capabilities());
    } else if (*markdown) {
      print_markdown(store::all_capabilities());
    } else {
      print_table(store::all_capabilities());
    }
  });
}

}  // namespace pawl::cli
