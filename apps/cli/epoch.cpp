#include "apps/cli/context.hpp"
#include "apps/cli/json.hpp"
#include "base/ids.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace pawl::cli {

namespace {

struct EpochOptions {
  std::string action = {};
  bool json = false;
};

void epoch(const EpochOptions& options, const Context& context) {
  Client client = open_client(context);
  const std::uint64_t now = value_or_fail(options.action == "new" ? client.raise_epoch() : client.epoch());
  if (options.json) {
    const std::string store = json_quote(base::hex(client.store_id()));
    fmt::print("{}", json_document(fmt::format("\"epoch\": {}, \"store_id\": {}", now, store)));
  } else {
    fmt::print("{}\n", now);
  }
}

}  // namespace

void add_epoch(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("epoch", "Print the store's epoch, or begin a new one");
  const auto options = std::make_shared<EpochOptions>();
  command->add_option("new", options->action, "Begin a new epoch and print it")
      ->option_text(" ")
      ->check([](const std::string& word) {
        return word == "new" ? std::string() : "\"" + word + "\" is not known here; the only word is \"new\"";
      });
  add_json_flag(*command, options->json);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl epoch [OPTIONS] [new]",
           "The epoch is the first part of every token. Begin a new one after a backup of the store\n"
           "was restored: tokens from then on are larger than all that were ever handed out, so\n"
           "that every fence takes them. Locks that are held stay held, with the tokens they have.\n"
           "\n"
           "Examples:\n"
           "  pawl epoch\n"
           "  pawl epoch new");
  command->callback([options, &context] { epoch(*options, context); });
}

}  // namespace pawl::cli
