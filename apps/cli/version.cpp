#include "apps/cli/context.hpp"

#include <pawl/version.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

namespace pawl::cli {

void add_version(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  describe(*command, "pawl version", "The same as \"pawl --version\".");
  command->callback([] { fmt::print("pawl {}\n", version); });
}

}  // namespace pawl::cli
