#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/views.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace pawl::cli {

namespace {

struct CheckOptions {
  std::string sequencer = {};
  std::string scheme = {};
  bool json = false;
};

std::string members_of(const Sequencer& sequencer) {
  return fmt::format("\"name\": {}, \"kind\": {}, \"mode\": {}, \"slot\": {}, \"token\": {}",
                     json_quote(sequencer.name), json_quote(to_string(sequencer.kind)),
                     json_quote(to_string(sequencer.mode)), sequencer.slot ? std::to_string(*sequencer.slot) : "null",
                     json_quote(sequencer.token.to_string()));
}

int check(const CheckOptions& options, const Context& context) {
  const Sequencer sequencer = value_or_fail(Sequencer::parse(options.sequencer));
  Client client = open_client(context, {.scheme = options.scheme});
  const Result<void> stands = client.check(sequencer);
  if (!stands && stands.code() != Errc::overtaken) throw failure_of(stands.error());
  if (options.json) {
    fmt::print("{}", json_document(fmt::format("\"stands\": {}, {}", stands.has_value(), members_of(sequencer))));
  } else if (stands) {
    fmt::print("the grant of {} with token {} stands\n", in_quotes(sequencer.name), sequencer.token.to_string());
  } else {
    fmt::print("{}\n", stands.error().message);
  }
  return stands ? 0 : answer_no;
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("check", "Ask the store whether a grant still stands");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("SEQUENCER", options->sequencer, "What PAWL_SEQUENCER says, or Hold::sequencer()")
      ->option_text(" ")
      ->required();
  add_scheme(*command, options->scheme);
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl check [OPTIONS] SEQUENCER",
           "Exit code: 0 it stands, 1 it does not. The answer may be old before you use it: what\n"
           "must not be written by an overtaken holder needs a fence.\n"
           "\n"
           "Examples, in a command of \"pawl run\" or \"pawl elect\":\n"
           "  pawl check \"$PAWL_SEQUENCER\" || exit 1\n"
           "  for s in $PAWL_SEQUENCERS; do pawl check \"$s\" || exit 1; done   # of --also, --permits");
  command->callback([options, &context] { context.exit_code = check(*options, context); });
}

}  // namespace pawl::cli
