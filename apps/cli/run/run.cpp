#include "apps/cli/context.hpp"
#include "apps/cli/run/lock_choice.hpp"
#include "apps/cli/run/promise.hpp"
#include "apps/cli/run/under_lock.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace pawl::cli {

namespace {

constexpr const char* run_usage = "pawl run [OPTIONS] NAME -- COMMAND...";

struct RunOptions {
  UnderLockOptions common = {};
  LockChoice choice = {};
};

int run(const RunOptions& options, const Context& context) {
  const std::string& name = name_or_fail(options.common, context, run_usage);
  return run_under_lock(options.common, context, errand_for(options.choice, name));
}

const std::string run_footer =
    std::string(
        "Examples:\n"
        "  pawl run backup -- /usr/local/bin/backup --full\n"
        "  pawl run --no-wait report -- make report      # somebody is at it already: 124\n"
        "  pawl run --wait 10s -E 0 sync -- ./sync       # the same, and that is fine\n"
        "  pawl run --lease 5m --grace 30s db -- sh -c 'migrate && vacuum'\n"
        "  pawl run --read catalog -- ./query            # beside other readers\n"
        "  pawl run --permits 1/3 mirror -- ./fetch      # three at a time\n"
        "  pawl run --also b a -- ./move a b             # both, and never a dead-lock\n"
        "  pawl run db -c 'migrate && vacuum'            # a line for the shell\n"
        "\n"
        "A plain run, --read or --write, --permits and \"pawl elect\" use different kinds of lock, and\n"
        "two kinds with the same NAME do not exclude each other. So a run ends with 125 if another\n"
        "kind of its NAME is held or waited for; --any-kind runs anyway. Programs that use the\n"
        "library are not refused. All who use --permits with a NAME must say the same N.\n"
        "\n"
        "Without --store and PAWL_STORE the locks are in a folder of the user who runs pawl: they\n"
        "exclude that user's runs on this host, and nobody else's. Users share a store by naming it:\n"
        "PAWL_STORE='file:///srv/locks?mode=0770' with a common group, or a server.\n"
        "\n"
        "With --also all locks are had together or none is kept, in whatever order they are named;\n"
        "--wait is for all of them together. With --read or --write all of them are read-write locks\n"
        "in that mode; otherwise those of --also are plain locks. A \"pawl run\" inside another one\n"
        "can dead-lock, --also cannot.\n"
        "\n"
        "The command finds PAWL_LOCK, PAWL_TOKEN and PAWL_SEQUENCER in its environment: those of\n"
        "NAME. PAWL_SEQUENCERS has all, one for each lock and permit, separated by blanks.\n"
        "It gets the signals that pawl gets. When a lock cannot be renewed it gets TERM, and, with\n"
        "all of its descendants, KILL before another run can hold the lock; after \"pawl revoke\"\n"
        "TERM, after \"pawl revoke --now\" KILL at once. They are killed when pawl is, even with -9,\n"
        "and when pawl is stopped for a lease, also by Ctrl-Z.\n"
        "When the command has ended, the lock is held until its descendants have ended as well, see\n"
        "--kill-children and --keep-children. After a TERM, INT or QUIT that pawl has passed on, they\n"
        "get TERM, and KILL after the grace time.\n"
        "\n"
        "With --no-fork this process becomes the command when the lock is held: its descendants are\n"
        "not covered, it gets TERM and KILL itself, and it runs on without the lock if the process\n"
        "that holds the lock is killed. What follows is for runs without it.\n"
        "\n") +
    promise +
    "\n"
    "Exit code: the command's own, or\n"
    "  121    the store cannot be used\n"
    "  122    the lock was lost while the command ran\n"
    "  124    the lock was not acquired in time (-E changes it)\n"
    "  125    bad usage, another kind of lock with this NAME is in use, or pawl itself failed\n"
    "  126    the command cannot be executed; 127: it was not found\n"
    "  128+n  the command, or the wait for the lock, was ended by signal n";

}  // namespace

void add_run(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("run", "Run a command under a lock");
  const auto options = std::make_shared<RunOptions>();
  add_lock_choice(*command, options->choice);
  add_under_lock(*command, options->common, context, "The lock");
  describe(*command, "pawl run [OPTIONS] NAME -- COMMAND [ARGUMENT...]", run_footer);
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace pawl::cli
