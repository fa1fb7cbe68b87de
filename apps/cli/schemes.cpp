#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "base/duration.hpp"
#include "store/registry.hpp"

#include <fmt/core.h>

#include <chrono>
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
    {"DELAY", "lock_delay", "stays shut for a while after its holder failed", &Capabilities::lock_delay},
    {"REVOKE", "revocable", "the holder can be asked to let go", &Capabilities::revocable},
    {"RESTART", "survives_restart", "holds and queue outlive a restart of the store", &Capabilities::survives_restart},
    {"BOUNDED", "bounded_by_lease", "nobody else holds it before our lease is over by our own clock",
     &Capabilities::bounded_by_lease},
};

Row header() {
  Row row{"STORE", "SCHEME"};
  for (const Ability& ability : abilities) row.emplace_back(ability.column);
  row.insert(row.end(), {"LEASE", "TOKEN FROM", "A DEAD CLIENT'S LOCK IS FREE"});
  return row;
}

Row row_of(const Capabilities& can) {
  Row row{std::string(can.store), std::string(can.scheme)};
  for (const Ability& ability : abilities) row.emplace_back(can.*ability.value ? "yes" : "-");
  row.push_back(base::format_duration(can.shortest_lease) + " to " + base::format_duration(can.longest_lease));
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

std::string json_of(const Capabilities& can) {
  const auto milliseconds = [](Duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d).count(); };
  std::string out = fmt::format("    {{\"store\": {}, \"scheme\": {}, \"summary\": {}", json_quote(can.store),
                                json_quote(can.scheme), json_quote(can.summary));
  for (const Ability& ability : abilities) out += fmt::format(", \"{}\": {}", ability.field, can.*ability.value);
  out += fmt::format(", \"shortest_lease_ms\": {}, \"longest_lease_ms\": {}", milliseconds(can.shortest_lease),
                     milliseconds(can.longest_lease));
  out += fmt::format(", \"token_source\": {}, \"on_client_death\": {}", json_quote(can.token_source),
                     json_quote(can.on_client_death));
  return out + fmt::format(", \"most_waiters\": {}}}", can.most_waiters);
}

void print_json(const std::vector<const Capabilities*>& all) {
  std::string rows;
  for (const Capabilities* can : all) rows += (rows.empty() ? "" : ",\n") + json_of(*can);
  fmt::print("{{\n  \"version\": 1,\n  \"schemes\": [\n{}\n  ]\n}}\n", rows);
}

}  // namespace

void add_schemes(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("schemes", "List the stores, their schemes, and what each can do");
  const auto json = std::make_shared<bool>(false);
  describe(*command, "pawl schemes [--json]", "Example:\n  pawl schemes --json");
  add_json_flag(*command, *json);
  command->callback([json] {
    if (*json) {
      print_json(store::all_capabilities());
    } else {
      print_table(store::all_capabilities());
    }
  });
}

}  // namespace pawl::cli
