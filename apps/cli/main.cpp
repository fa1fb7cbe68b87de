#include "apps/cli/context.hpp"
#include "base/lock_name.hpp"

#include <pawl/version.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <string>

namespace {

using pawl::cli::own_failure;

int fail(const std::string& sentence) {
  fmt::print(stderr, "pawl: {}\n", sentence);
  return own_failure;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string sentence = pawl::base::printable(error.what(), 200);
  if (app.get_subcommands().empty() && app.remaining_size() > 0) {
    const std::string word = app.remaining().front();
    sentence = word.starts_with('-') ? "unknown option \"" : "unknown subcommand \"";
    sentence += pawl::base::printable(word, 40) + "\"";
  }
  return fail(sentence + "; try \"pawl --help\"");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"pawl: distributed locks with fencing tokens, over many stores", "pawl"};
  app.set_version_flag("--version", std::string("pawl ") + pawl::version);
  app.require_subcommand(1);
  app.footer("\"pawl SUBCOMMAND --help\" tells more. Exit code 125: pawl itself could not do it.");

  pawl::cli::Context context;
  pawl::cli::add_schemes(app, context);
  pawl::cli::add_version(app, context);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) return fail("the output could not be written");
    return context.exit_code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
