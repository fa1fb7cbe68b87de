#include "apps/cli/context.hpp"
#include "apps/cli/run/promise.hpp"
#include "apps/cli/run/under_lock.hpp"
#include "apps/cli/views.hpp"
#include "base/lock_name.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::cli {

namespace {

constexpr const char* usage = "pawl run [OPTIONS] NAME -- COMMAND...";

struct Permits {
  std::uint32_t wanted = 0;
  std::uint32_t of = 0;
};

struct RunOptions {
  UnderLockOptions common = {};
  bool read = false;
  bool write = false;
  std::optional<Permits> permits = {};
  std::vector<std::string> also = {};
};

/// Digits and nothing else; as large as can be, where it is larger.
std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (last != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc{} ? number : std::numeric_limits<std::uint32_t>::max();
}

Permits parse_permits(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return CLI::ValidationError("--permits", "\"" + base::printable(text, 40) + "\" " + why);
  };
  const std::size_t slash = text.find('/');
  const auto wanted = number_in(std::string_view(text).substr(0, slash));
  const auto of = slash == std::string::npos ? std::nullopt : number_in(std::string_view(text).substr(slash + 1));
  if (!wanted || !of) throw refuse("is not K/N, as in 1/3: one of three permits");
  if (*of > Semaphore::most_permits) {
    throw refuse(fmt::format("is too many: a semaphore has {} permits at the most", Semaphore::most_permits));
  }
  if (*wanted == 0) throw refuse("asks for no permit: it must be one at least, as in 1/3");
  if (*wanted > *of) throw refuse(fmt::format("can never be had: {} is more than {}", *wanted, *of));
  return {*wanted, *of};
}

/// --read and --write are for all names, --permits for the first one.
std::vector<Wanted> wanted_by(const RunOptions& options, const std::string& name) {
  const Kind kind = options.read || options.write ? Kind::rw : Kind::mutex;
  std::vector<Wanted> wanted{{options.permits ? Kind::permits : kind, name}};
  for (const std::string& other : options.also) {
    const bool twice = std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& one) { return one.name == other; });
    if (twice) throw Failure{own_failure, fmt::format("{} is named twice; name every lock once", in_quotes(other))};
    wanted.push_back({kind, other});
  }
  return wanted;
}

Result<Held> acquire_one(const RunOptions& options, const Wanted& wanted, Client& client, const AcquireOptions& wish,
                         std::stop_token stop) {
  switch (wanted.kind) {
    case Kind::permits:
      return client.semaphore(wanted.name, options.permits->of).acquire(options.permits->wanted, wish, std::move(stop));
    case Kind::rw: {
      SharedMutex mutex = client.shared_mutex(wanted.name);
      return options.read ? mutex.acquire_shared(wish, std::move(stop)) : mutex.acquire(wish, std::move(stop));
    }
    default: return client.mutex(wanted.name).acquire(wish, std::move(stop));
  }
}

Result<Held> acquire_all(const RunOptions& options, const std::vector<Wanted>& wanted, Client& client,
                         const AcquireOptions& wish, std::stop_token stop) {
  MultiLock locks;
  for (const Wanted& each : wanted) {
    switch (each.kind) {
      case Kind::permits: locks.add(client.semaphore(each.name, options.permits->of), options.permits->wanted); break;
      case Kind::rw: locks.add(client.shared_mutex(each.name), options.read ? Mode::shared : Mode::exclusive); break;
      default: locks.add(client.mutex(each.name));
    }
  }
  return locks.acquire(wish, std::move(stop));
}

int run(const RunOptions& options, const Context& context) {
  Errand errand;
  errand.wanted = wanted_by(options, name_or_fail(options.common, context, usage));
  errand.awaited = errand.wanted.size() == 1 ? "the lock" : "the locks";
  errand.acquire = [&](Client& client, const AcquireOptions& wish, std::stop_token stop) {
    // By itself it is told in its own words: a MultiLock counts its waiting time down.
    if (errand.wanted.size() == 1) return acquire_one(options, errand.wanted.front(), client, wish, std::move(stop));
    return acquire_all(options, errand.wanted, client, wish, std::move(stop));
  };
  return run_under_lock(options.common, context, errand);
}

const std::string footer =
    std::string(
        "Examples:\n"
        "  pawl run backup -- /usr/local/bin/backup --full\n"
        "  pawl run --no-wait report -- make report      # somebody is at it already: 124\n"
        "  pawl run --wait 10s -E 0 sync -- ./sync       # the same, and that is fine\n"
        "  pawl run --lease 5m --grace 30s db -- sh -c 'migrate && vacuum'\n"
        "  pawl run --read catalog -- ./query            # beside other readers\n"
        "  pawl run --permits 1/3 mirror -- ./fetch      # three at a time\n"
        "  pawl run --also b a -- ./move a b             # both, and never a dead-lock\n"
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
  CLI::Option* read = command->add_flag("--read", options->read, "Share the read-write lock NAME with other readers");
  CLI::Option* write = command->add_flag("--write", options->write, "Have the read-write lock NAME alone");
  const auto take_permits = [options](const std::string& text) { options->permits = parse_permits(text); };
  CLI::Option* permits =
      command
          ->add_option_function<std::string>("--permits", take_permits, "Have K of the N permits of the semaphore NAME")
          ->option_text("K/N");
  command
      ->add_option("--also", options->also,
                   "A further lock, held together with NAME; repeatable.\n--read and --write are for all of them")
      ->option_text("NAME2")
      ->allow_extra_args(false);
  read->option_text(" ")->excludes(write)->excludes(permits);
  write->option_text(" ")->excludes(permits);
  add_under_lock(*command, options->common, context, "The lock");
  describe(*command, "pawl run [OPTIONS] NAME -- COMMAND [ARGUMENT...]", footer);
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace pawl::cli
