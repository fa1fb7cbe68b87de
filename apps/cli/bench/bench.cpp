#include "apps/cli/bench/cases.hpp"
#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/temporary_folder.hpp"
#include "base/url.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

struct BenchOptions {
  std::optional<Duration> time = {};
  bool json = false;
};

std::string microseconds(const std::optional<double>& nanoseconds) {
  if (!nanoseconds) return "-";
  return fmt::format("{:.1f} us", *nanoseconds / 1e3);
}

std::string verdict(const Figure& figure) {
  if (!figure.goal || !figure.floor) return "-";
  return fmt::format("{:.1f} {}", *figure.goal, *figure.met() ? "met" : "MISSED");
}

Row row_of(const Figure& figure) {
  return {figure.name,
          microseconds(figure.pawl),
          fmt::format("{:.0f}/s", 1e9 / figure.pawl),
          microseconds(figure.floor),
          figure.ratio() ? fmt::format("{:.2f}", *figure.ratio()) : "-",
          verdict(figure),
          microseconds(figure.socket),
          microseconds(figure.flock)};
}

void print_table(const std::vector<Figure>& figures) {
  std::vector<Row> rows{{"CASE", "PAWL", "", "FLOOR", "RATIO", "GOAL", "SOCKET", "FLOCK"}};
  for (const Figure& figure : figures) rows.push_back(row_of(figure));
  fmt::print("{}\nFLOOR is what cannot be done without, measured in turns with pawl in the same run:\n",
             format_table(rows));
  for (const Figure& figure : figures) {
    if (!figure.floor_is.empty()) fmt::print("  {}: {}\n", figure.name, figure.floor_is);
  }
  fmt::print("SOCKET is one datagram from process to process, FLOCK is flock(2) at the same work.\n");
}

std::string json_number(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "null"; }

std::string json_of(const Figure& figure) {
  const std::string met = figure.met() ? fmt::format("{}", *figure.met()) : "null";
  const std::string ratio = figure.ratio() ? fmt::format("{:.3f}", *figure.ratio()) : "null";
  return fmt::format(
      "    {{\"case\": {}, \"pawl_ns\": {:.1f}, \"floor_ns\": {}, \"floor\": {}, \"ratio\": {}, \"goal\": {}, "
      "\"met\": {}, \"socket_ns\": {}, \"flock_ns\": {}}}",
      json_quote(figure.name), figure.pawl, json_number(figure.floor), json_quote(figure.floor_is), ratio,
      json_number(figure.goal), met, json_number(figure.socket), json_number(figure.flock));
}

void print_json(const Bench& bench, const std::vector<Figure>& figures) {
  std::vector<std::string> rows;
  rows.reserve(figures.size());
  for (const Figure& figure : figures) rows.push_back(json_of(figure));
  fmt::print("{}", json_document(fmt::format("\"store\": {},\n  \"figures\": [\n{}\n  ]",
                                             json_quote(value_or_fail(base::Url::parse(bench.url)).redacted()),
                                             fmt::join(rows, ",\n"))));
}

std::vector<Figure> measure(const Bench& bench) {
  const auto tell = [](const char* what) {
    if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K{}", what);
  };
  tell("measuring: uncontended");
  std::vector<Figure> figures = measure_uncontended(bench);
  for (const int processes : {2, 8}) {
    if (!bench.many_processes) continue;
    tell("measuring: processes");
    figures.push_back(measure_processes(bench, processes));
  }
  tell("measuring: threads");
  figures.push_back(measure_threads(bench, 8));
  if (bench.many_processes) {
    tell("measuring: waiters");
    for (Figure& figure : measure_waiters(bench)) figures.push_back(std::move(figure));
  }
  tell("");
  return figures;
}

void run_bench(const BenchOptions& options, const Context& context) {
  const TemporaryFolder folder("pawl-bench");
  Bench bench;
  bench.folder = folder.path();
  bench.url = context.store().value_or("file://" + (folder.path() / "store").string());
  const base::Url url = value_or_fail(base::Url::parse(bench.url));
  bench.floor = floor_of(url.scheme);
  bench.many_processes = url.scheme != "memory";
  // So many slices and a few seconds for setting up; the uncontended case counts as two.
  constexpr int slices = 2 + 2 * 4 + 2 + 3;
  bench.slice =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.time.value_or(15s)) / (slices * bench.rounds);
  const std::vector<Figure> figures = measure(bench);
  if (options.json) {
    print_json(bench, figures);
  } else {
    print_table(figures);
  }
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("bench", "Measure the locks beside what they cannot do without");
  const auto options = std::make_shared<BenchOptions>();
  add_duration(*command, "--time", options->time, "How long, without setting up; default 15s");
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl bench [OPTIONS]",
           "Without a store given, a file store in a temporary folder is measured. On a store that\n"
           "others use, they wait behind the locks of the benchmark, whose names begin with\n"
           "\"pawl-bench/\", only if they use the same names.\n"
           "\n"
           "Examples:\n"
           "  pawl bench\n"
           "  pawl bench --time 60s --json > bench.json");
  command->callback([options, &context] { run_bench(*options, context); });
}

}  // namespace pawl::cli
