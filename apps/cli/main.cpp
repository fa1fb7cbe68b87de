#include "apps/cli/context.hpp"
#include "base/lock_name.hpp"

#include <pawl/version.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using pawl::cli::Context;
using pawl::cli::own_failure;

constexpr std::string_view exit_codes =
    "Examples:\n"
    "  pawl run backup -- /usr/local/bin/backup --full\n"
    "  pawl run --no-wait --lease 10s report -- make report\n"
    "  pawl run --read catalog -- ./query\n"
    "  pawl elect api -- ./serve\n"
    "  pawl ls\n"
    "  pawl show backup\n"
    "  pawl --store redis://db7:6379/0 run backup -- /usr/local/bin/backup\n"
    "\n"
    "\"pawl help SUBCOMMAND\" tells more, \"man pawl\" everything.\n"
    "\n"
    "Exit codes:\n"
    "  1      no: the grant does not stand (check), nobody leads (leader), or there is\n"
    "         nothing to revoke\n"
    "  121    the store cannot be used: not there, no permission, full\n"
    "  122    the lock was lost while the command ran\n"
    "  124    the lock was not acquired in time\n"
    "  125    bad usage, or pawl itself failed\n"
    "  126    the command cannot be executed; 127: it was not found\n"
    "  128+n  ended by signal n";

int fail(int code, std::string_view sentence) {
  if (!sentence.empty()) fmt::print(stderr, "pawl: {}\n", sentence);
  return code;
}

using Words = std::vector<std::string>;

Words::iterator find_subcommand(Words& words) {
  auto word = words.begin();
  while (word != words.end() && word->starts_with('-')) word += *word == "--store" && word + 1 != words.end() ? 2 : 1;
  return word;
}

/// Without -- the first word that is neither an option nor NAME begins the command, most likely: what follows is not for us.
void expect_mark(const CLI::App& command, Words::const_iterator word, Words::const_iterator end) {
  int names = 0;
  for (; word != end; ++word) {
    if (!word->starts_with('-')) {
      if (++names < 2) continue;
      throw pawl::cli::Failure{own_failure, fmt::format("-- is missing before the command; write pawl {} NAME -- {}",
                                                        command.get_name(), pawl::base::printable(*word, 40))};
    }
    if (*word == "-c" || word->starts_with("--name")) return;
    const CLI::Option* option = command.get_option_no_throw(*word);
    if (option != nullptr && option->get_items_expected_max() > 0 && word + 1 != end) ++word;
  }
}

/// `pawl run` and `pawl elect` end at the first --; the rest belongs to the command. Other subcommands may use -- as is
/// usual.
void take_command(Words& words, const CLI::App& app, Context& context) {
  const auto word = find_subcommand(words);
  if (word == words.end() || (*word != "run" && *word != "elect")) return;
  const auto mark = std::find(word, words.end(), "--");
  if (mark == words.end()) return expect_mark(*app.get_subcommand(*word), word + 1, words.end());
  context.command.assign(mark + 1, words.end());
  words.erase(mark, words.end());
}

bool knows(const CLI::App& app, const std::string& subcommand) {
  const auto all = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == subcommand; });
  return !all.empty();
}

/// `pawl help` is `pawl --help`, and `pawl help run` is `pawl run --help`.
void take_help(Words& words, const CLI::App& app) {
  const auto help = find_subcommand(words);
  if (help == words.end() || *help != "help") return;
  const auto name = words.erase(help);
  if (words.end() - name > 1) throw pawl::cli::Failure{own_failure, "write pawl help, or pawl help SUBCOMMAND"};
  if (name != words.end() && !name->starts_with('-') && !knows(app, *name)) {
    throw pawl::cli::Failure{own_failure, fmt::format("there is no subcommand \"{}\"; \"pawl help\" lists them",
                                                      pawl::base::printable(*name, 40))};
  }
  words.push_back("--help");
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return text;
}

/// CLI11's own sentences in our words.
std::string sentence_of(const CLI::App& at, const CLI::ParseError& error) {
  const std::vector<std::string> rest = at.remaining();
  if (!rest.empty()) {
    const char* what = rest.front().starts_with('-') ? "unknown option" : "unexpected argument";
    if (at.get_parent() == nullptr && !rest.front().starts_with('-')) what = "unknown subcommand";
    return fmt::format("{} \"{}\"", what, pawl::base::printable(rest.front(), 40));
  }
  std::string text = one_line(error.what());
  const std::string first_word = text.substr(0, text.find_first_of(": "));
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
      return (at.get_parent() == nullptr ? "the subcommand" : first_word) + " is missing";
    case CLI::ExitCodes::ArgumentMismatch: return first_word + " needs a value";
    default: return text;
  }
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const auto used = app.get_subcommands();
  const CLI::App& at = used.empty() ? app : *used.front();
  const std::string whole = used.empty() ? "pawl" : "pawl " + at.get_name();
  return fail(own_failure, fmt::format("{}; try \"{} --help\"", sentence_of(at, error), whole));
}

struct Subcommand {
  std::string_view name;
  void (*add)(CLI::App& app, Context& context);
};

constexpr Subcommand subcommands[] = {
    {"run", pawl::cli::add_run},       {"hold", pawl::cli::add_hold},       {"elect", pawl::cli::add_elect},
    {"leader", pawl::cli::add_leader}, {"ls", pawl::cli::add_ls},           {"show", pawl::cli::add_show},
    {"revoke", pawl::cli::add_revoke}, {"check", pawl::cli::add_check},     {"epoch", pawl::cli::add_epoch},
    {"demo", pawl::cli::add_demo},     {"bench", pawl::cli::add_bench},     {"torture", pawl::cli::add_torture},
    {"schema", pawl::cli::add_schema}, {"schemes", pawl::cli::add_schemes}, {"version", pawl::cli::add_version},
};

/// Only the one that is used, where that is plain: to declare the options of all takes as long as `true` does.
void add_subcommands(CLI::App& app, Context& context, Words& words) {
  const auto word = find_subcommand(words);
  const auto* const used = std::find_if(std::begin(subcommands), std::end(subcommands), [&](const Subcommand& one) {
    return word != words.end() && *word == one.name;
  });
  if (used != std::end(subcommands)) return used->add(app, context);
  for (const Subcommand& one : subcommands) one.add(app, context);
  app.add_subcommand("help", "Print this help, or that of a subcommand");
}

/// A store's file must never be what stdout or stderr writes to.
void fill_standard_fds() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0)
      throw std::runtime_error("/dev/null cannot be opened");
  }
}

int run(int argc, char** argv) {
  Context context;
  CLI::App app{"Distributed locks with fencing tokens, over many stores.", "pawl"};
  app.set_version_flag("--version", std::string("pawl ") + pawl::version, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  pawl::cli::describe(app, "pawl [--store URL] SUBCOMMAND ...", std::string(exit_codes));
  pawl::cli::add_store_option(app, context.store_before);
  try {
    Words words(argv + 1, argv + argc);
    add_subcommands(app, context, words);
    take_command(words, app, context);
    take_help(words, app);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    if (std::fflush(stdout) != 0) return fail(own_failure, "the output could not be written");
    return context.exit_code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  } catch (const pawl::cli::Failure& failure) {
    return fail(failure.code, failure.sentence);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    fill_standard_fds();
    return run(argc, argv);
  } catch (const std::exception& error) {
    return fail(own_failure, error.what());
  }
}
