#include "apps/cli/run/lock_choice.hpp"

#include "apps/cli/views.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace pawl::cli {

namespace {

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
std::vector<Wanted> wanted_by(const LockChoice& options, const std::string& name) {
  const Kind kind = options.read || options.write ? Kind::rw : Kind::mutex;
  std::vector<Wanted> wanted{{options.permits ? Kind::permits : kind, name}};
  for (const std::string& other : options.also) {
    const bool twice = std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& one) { return one.name == other; });
    if (twice) throw Failure{own_failure, fmt::format("{} is named twice; name every lock once", in_quotes(other))};
    wanted.push_back({kind, other});
  }
  return wanted;
}

Result<Held> acquire_one(const LockChoice& options, const Wanted& wanted, Client& client, const AcquireOptions& wish,
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

Result<Held> acquire_all(const LockChoice& options, const std::vector<Wanted>& wanted, Client& client,
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

}  // namespace

Errand errand_for(const LockChoice& choice, const std::string& name) {
  Errand errand;
  errand.wanted = wanted_by(choice, name);
  errand.awaited = errand.wanted.size() == 1 ? "the lock" : "the locks";
  errand.acquire = [&choice, wanted = errand.wanted](Client& client, const AcquireOptions& wish, std::stop_token stop) {
    // By itself it is told in its own words: a MultiLock counts its waiting time down.
    if (wanted.size() == 1) return acquire_one(choice, wanted.front(), client, wish, std::move(stop));
    return acquire_all(choice, wanted, client, wish, std::move(stop));
  };
  return errand;
}

void add_lock_choice(CLI::App& command, LockChoice& choice) {
  CLI::Option* read = command.add_flag("--read", choice.read, "Share the read-write lock NAME with other readers");
  CLI::Option* write = command.add_flag("--write", choice.write, "Have the read-write lock NAME alone");
  const auto take_permits = [&choice](const std::string& text) { choice.permits = parse_permits(text); };
  CLI::Option* permits =
      command
          .add_option_function<std::string>("--permits", take_permits, "Have K of the N permits of the semaphore NAME")
          ->option_text("K/N");
  command
      .add_option("--also", choice.also,
                  "A further lock, held together with NAME; repeatable.\n--read and --write are for all of them")
      ->option_text("NAME2")
      ->allow_extra_args(false);
  read->option_text(" ")->excludes(write)->excludes(permits);
  write->option_text(" ")->excludes(permits);
}

}  // namespace pawl::cli
