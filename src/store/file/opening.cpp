// How a process comes to use a folder: alone at the door, it finds out what is there, makes or joins it, and announces
// itself.

#include "base/lock_name.hpp"
#include "base/threads.hpp"
#include "store/file/environment.hpp"
#include "store/file/mail.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace pawl::store::file {

namespace {

constexpr std::size_t usual_size = std::size_t{1} << 20;

using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device and inode of the gate

/// What this process has open. A gate that is being closed must not be opened again before it is closed: a process that
/// closes one descriptor of a file loses its record locks on all of them (POSIX).
struct Opened {
  std::mutex mutex;  // guards all below, and is held while an environment is opened or closed
  std::map<Identity, std::weak_ptr<Environment>> usable;
  std::set<Identity> not_closed;
  std::uint64_t generation = base::fork_generation();
};

Opened& opened() {
  static Opened& all = *new Opened;  // never destroyed: a store may live in a static object
  // A child must not find it locked by a thread that it does not have.
  static const int watching =
      pthread_atfork([] { opened().mutex.lock(); }, [] { opened().mutex.unlock(); }, [] { opened().mutex.unlock(); });
  (void)watching;
  return all;
}

void forget_the_parents(Opened& all) {
  if (std::exchange(all.generation, base::fork_generation()) == base::fork_generation()) return;
  all.usable.clear();
  all.not_closed.clear();
}

/// The last owner closes it.
void close_environment(Environment* environment) {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  const Identity identity(environment->gate().device(), environment->gate().inode());
  if (!environment->inherited()) all.not_closed.erase(identity);
  delete environment;
}

}  // namespace

/// One try to open one folder.
class Opening {
 public:
  Opening(Folder folder, Gate gate, base::Runtime& runtime, Deadline deadline)
      : folder_(std::move(folder)), gate_(std::move(gate)), runtime_(runtime), deadline_(deadline) {}

  Result<std::shared_ptr<Environment>> run() {
    if (const auto other = gate_.try_take(Gate::Right::open)) return not_now(*other);
    const auto named = folder_.look("gate");
    // Somebody replaced the folder's files while we came.
    if (!named || named->st_ino != gate_.inode()) return not_now({});
    const Result<Place> here = Place::here();
    if (!here) return here.error();
    if (auto ready = prepare(*here); !ready) return ready.error();
    Result<TokenFile> tokens = TokenFile::open(folder_);
    if (!tokens) return tokens.error();
    Result<Database> database = open_database(*here);
    if (!database) return database.error();
    auto environment =
        std::make_unique<Environment>(std::move(folder_), std::move(gate_), std::move(*tokens), std::move(*database));
    if (auto joined = join(*environment); !joined) return joined.error();
    return std::shared_ptr<Environment>(environment.release(), close_environment);
  }

 private:
  Error not_now(const Somebody& other) const {
    return {Errc::busy,
            fmt::format("process {} is just opening the folder \"{}\"", other.pid, base::printable(folder_.path()))};
  }

  Error about_folder(const Error& error) const {
    return {error.code, fmt::format("the folder \"{}\": {}", base::printable(folder_.path()), error.message)};
  }

  Result<void> prepare(const Place& here) {
    const Result<std::optional<Found>> found = gate_.found();
    if (!found) return found.error();
    const Result<Verdict> verdict = judge(*found, here, gate_.anybody());
    if (!verdict) return about_folder(verdict.error());
    verdict_ = *verdict;
    if (verdict_ != Verdict::rebuild) return gate_.join(verdict_ == Verdict::take_over);
    folder_.remove("locks");
    return gate_.make(here);
  }

  Result<Database> open_database(const Place& here) {
    const auto named = folder_.look("locks");
    const bool known = named && named->st_ino == gate_.database();
    if (verdict_ == Verdict::join && !known) {
      return Error{Errc::store_unavailable,
                   fmt::format("\"{}\" was deleted or replaced while others use it: end them first",
                               base::printable(folder_.shown("locks")))};
    }
    if (!known) folder_.remove("locks");
    Result<Folder::File> file = folder_.open_file("locks");
    if (!file) return file.error();
    auto database = Database::open(folder_.reach("locks"), 0600, folder_.shown("locks"));
    if (!database) return database;
    // Room for the usual: what is held can be released when the disk is full.
    if (auto room = allocate(file->fd, usual_size, folder_.shown("locks")); !room) return room.error();
    const auto made = folder_.look("locks");
    gate_.finish(here, made ? made->st_ino : 0);
    return database;
  }

  Result<void> join(Environment& environment) {
    do {
      environment.process_ = runtime_.random();
    } while (!environment.gate_.announce(environment.process_));
    if (auto tokens = begin_tokens(environment); !tokens) return tokens;
    const Environment::Work work = [](Tables& tables) { tables.bury_the_dead(); };
    const Environment::Attempt attempt = environment.attempt(work, runtime_, patience());
    if (attempt.end == Environment::Attempt::End::busy || attempt.end == Environment::Attempt::End::failed) {
      return attempt.error;
    }
    remove_dead_mailboxes(environment);
    environment.gate_.give_back(Gate::Right::open);
    return {};
  }

  /// A new epoch if the token file is new, a copy, or older than what was handed out since the boot; and some tokens.
  Result<void> begin_tokens(Environment& environment) {
    if (const auto other = environment.gate_.try_take(Gate::Right::reserve_tokens)) return not_now(*other);
    Counters used;
    const auto look = [&used](Counters& counters) { used = counters; };
    if (auto looked = environment.change_counters(look, patience()); !looked) return looked;
    const Result<std::optional<TokenMark>> found = environment.tokens_.read();
    if (!found) return found.error();
    Result<TokenMark> next = next_mark(*found, used, environment.tokens_.identity());
    if (!next) return next.error();
    if (*found != *next) {
      if (auto written = environment.tokens_.write(*next); !written) return written;
    }
    const auto note = [&](Counters& counters) {
      if (counters.epoch != next->epoch.epoch) counters.last_token = next->mark - token_block;
      counters.epoch = next->epoch.epoch;
      counters.reserved = next->mark;
    };
    environment.store_id_ = next->epoch.store_id;
    Result<void> noted = environment.change_counters(note, patience());
    environment.gate_.give_back(Gate::Right::reserve_tokens);
    return noted;
  }

  /// What the file must say before the first grant.
  Result<TokenMark> next_mark(const std::optional<TokenMark>& found, const Counters& used,
                              const std::string& identity) {
    std::optional<fencing::EpochRecord> record;
    if (found) record = found->epoch;
    TokenMark next = found.value_or(TokenMark{});
    const bool brought_back =
        used.epoch > next.epoch.epoch || (used.epoch == next.epoch.epoch && used.reserved > next.mark);
    if (record && brought_back) {
      record->identity.clear();  // whatever it says
      record->epoch = std::max(record->epoch, used.epoch);
    }
    const std::uint64_t earliest = std::max(runtime_.unix_milliseconds(), used.epoch + 1);
    Result<fencing::EpochDecision> decision = fencing::decide(record, identity, earliest, runtime_.random());
    if (!decision) return decision.error();
    next.epoch = decision->record;
    next.mark = std::max(next.mark, used.reserved);
    const bool few = used.epoch != next.epoch.epoch || next.mark - used.last_token < token_block / 2;
    if (few) next.mark += token_block;
    return next;
  }

  Duration patience() const { return deadline_.at - runtime_.now(); }

  static void remove_dead_mailboxes(const Environment& environment) {
    const int fd = ::openat(environment.folder().fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* folder = fd >= 0 ? ::fdopendir(fd) : nullptr;
    if (folder == nullptr) return;
    while (const dirent* entry = ::readdir(folder)) {
      const auto owner = mailbox_owner(entry->d_name);
      if (owner && !environment.gate().alive(*owner)) environment.folder().remove(entry->d_name);
    }
    ::closedir(folder);
  }

  Folder folder_;
  Gate gate_;
  base::Runtime& runtime_;
  const Deadline deadline_;
  Verdict verdict_ = Verdict::join;
};

Result<std::shared_ptr<Environment>> Environment::open(const FolderOptions& options, base::Runtime& runtime,
                                                       Deadline deadline) {
  Result<Folder> folder = Folder::open(options);
  if (!folder) return folder.error();
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  forget_the_parents(all);
  if (const auto gate = folder->look("gate")) {
    const Identity identity(gate->st_dev, gate->st_ino);
    if (auto known = all.usable[identity].lock()) return known;
    all.usable.erase(identity);
    if (all.not_closed.contains(identity)) return Error{Errc::busy, "this process is just closing the folder"};
  }
  Result<Gate> gate = Gate::open(*folder);
  if (!gate) return gate.error();
  const Identity identity(gate->device(), gate->inode());
  auto environment = Opening(std::move(*folder), std::move(*gate), runtime, deadline).run();
  if (!environment) return environment;
  all.usable[identity] = *environment;
  all.not_closed.insert(identity);
  return environment;
}

}  // namespace pawl::store::file
