// How a process comes to use a folder: it finds out what is there, joins those who use it, and announces itself. Where there
// are none it makes the folder's files, or takes them over, while all others wait.

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
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace pawl::store::file {

namespace {

constexpr std::size_t usual_size = std::size_t{1} << 20;

using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device and inode: of the gate, where nothing else is said

/// What this process has open. A gate that is being closed must not be opened again before it is closed: a process that
/// closes one descriptor of a file loses its record locks on all of them (POSIX).
struct Opened {
  std::mutex mutex;            // guards all below, and is held while an environment is closed
  std::set<Identity> opening;  // folders: one at a time each
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
  all.opening.clear();
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
    const Result<Place> here = Place::here();
    if (!here) return here.error();
    for (const auto sharing : {Gate::Sharing::together, Gate::Sharing::alone}) {
      if (const auto other = gate_.try_take(Gate::Right::open, sharing)) return not_now(*other);
      if (auto looked = look(*here); !looked) return looked.error();
      if (verdict_ == Verdict::join) return join();
      if (sharing == Gate::Sharing::together) gate_.give_back(Gate::Right::open);
    }
    return make(*here);
  }

 private:
  Error not_now(const Somebody& other) const {
    const std::string path = base::printable(folder_.path());
    if (other.pid != 0 && is_stopped(other.pid)) {
      return {Errc::busy,
              fmt::format("process {} is stopped while it opens the folder \"{}\": let it go on (kill -CONT {}) "
                          "or end it",
                          other.pid, path, other.pid)};
    }
    return {Errc::busy, fmt::format("process {} is just opening the folder \"{}\"", other.pid, path)};
  }

  Error about_folder(const Error& error) const {
    return {error.code, fmt::format("the folder \"{}\": {}", base::printable(folder_.path()), error.message)};
  }

  Result<void> look(const Place& here) {
    const auto named = folder_.look("gate");
    if (!named || named->st_ino != gate_.inode()) {
      return Error{Errc::busy,
                   fmt::format("the files of \"{}\" are just being replaced", base::printable(folder_.path()))};
    }
    const Result<std::optional<Found>> found = gate_.found();
    if (!found) return found.error();
    const Result<Verdict> verdict = judge(*found, here, gate_.anybody());
    if (!verdict) return about_folder(verdict.error());
    verdict_ = *verdict;
    return {};
  }

  /// The right to open is needed until we are announced: whoever comes alone must not take the folder for unused.
  Result<std::shared_ptr<Environment>> join() {
    if (auto joined = gate_.join(false); !joined) return joined.error();
    Result<Folder::File> locks = folder_.open_file("locks");
    if (!locks) return locks.error();
    if (locks->inode != gate_.database()) {
      return Error{Errc::store_unavailable,
                   fmt::format("\"{}\" was deleted or replaced while others use it: end them first",
                               base::printable(folder_.shown("locks")))};
    }
    const ProcessKey process = announce();
    gate_.give_back(Gate::Right::open);
    Result<TokenFile> tokens = TokenFile::open(folder_);
    if (!tokens) return tokens.error();
    Result<Database> database = Database::open(std::move(locks->fd), folder_.shown("locks"));
    if (!database) return database.error();
    auto environment = gather(std::move(*tokens), std::move(*database), process);
    if (auto ready = join_tokens(*environment); !ready) return ready.error();
    return finish(std::move(environment));
  }

  Result<std::shared_ptr<Environment>> make(const Place& here) {
    if (auto ready = prepare(here); !ready) return ready.error();
    Result<TokenFile> tokens = TokenFile::open(folder_);
    if (!tokens) return tokens.error();
    Result<Database> database = open_database(here);
    if (!database) return database.error();
    const ProcessKey process = announce();
    auto environment = gather(std::move(*tokens), std::move(*database), process);
    if (auto ready = begin_tokens(*environment); !ready) return ready.error();
    environment->gate_.give_back(Gate::Right::open);
    return finish(std::move(environment));
  }

  ProcessKey announce() {
    ProcessKey process = 0;
    do {
      process = runtime_.random();
    } while (!gate_.announce(process));
    return process;
  }

  std::unique_ptr<Environment> gather(TokenFile tokens, Database database, ProcessKey process) {
    auto environment =
        std::make_unique<Environment>(std::move(folder_), std::move(gate_), std::move(tokens), std::move(database));
    environment->process_ = process;
    return environment;
  }

  std::shared_ptr<Environment> finish(std::unique_ptr<Environment> environment) {
    remove_dead_mailboxes(*environment);
    environment->note_write(runtime_);
    return {environment.release(), close_environment};
  }

  Result<void> prepare(const Place& here) {
    restored_ = verdict_ == Verdict::rebuild;  // what was handed out in another boot is known from `tokens` alone
    if (restored_) {
      folder_.remove("locks");
      return gate_.make(here);
    }
    if (auto joined = gate_.join(true); !joined) return joined;
    restored_ = changed_by_others();
    return {};
  }

  /// Has something else than pawl changed the folder since pawl last did? Only while nobody uses it.
  bool changed_by_others() const {
    const std::array<const char*, 3> names = {".", "locks", "tokens"};
    return std::any_of(names.begin(), names.end(),
                       [this](const char* name) { return folder_.changed(name) > gate_.written(); });
  }

  Result<Database> open_database(const Place& here) {
    Result<Folder::File> file = folder_.open_file("locks");
    const bool planted = file.code() == Errc::invalid_argument;  // a link, or no file at all
    if (!file && !planted) return file.error();
    const bool known = file && !file->created && file->inode == gate_.database();
    if (!known) restored_ = true;
    if (planted || (!known && !file->created)) {
      folder_.remove("locks");
      file = folder_.open_file("locks");
      if (!file) return file.error();
    }
    const ino_t inode = file->inode;
    auto database = Database::open(std::move(file->fd), folder_.shown("locks"));
    if (!database) return database;
    if (verdict_ == Verdict::take_over && known) {
      const int fault = clear(*database);
      if (fault > 0) return describe_fault(fault, database->shown());
      if (fault < 0) return rebuild_database(here);
    }
    // Room for the usual: what is held can be released when the disk is full.
    if (auto room = allocate(database->file(), usual_size, folder_.shown("locks")); !room) return room.error();
    gate_.finish(here, inode);
    return database;
  }

  /// Nobody lives: what the dead have left goes, batch by batch. 0, or what went wrong: below 0 the database is full, or
  /// damaged.
  int clear(Database& database) {
    for (bool more = true; more;) {
      Transaction transaction(database);
      Tables tables(transaction, runtime_.now(), gate_);
      tables.sweep();
      more = tables.bury_the_dead() || tables.more();
      tables.save();
      if (const int fault = transaction.commit(); fault != 0) return fault;
    }
    return 0;
  }

  /// It cannot even be emptied, and nobody needs what is in it, but for lock-delays.
  Result<Database> rebuild_database(const Place& here) {
    folder_.remove("locks");
    verdict_ = Verdict::rebuild;
    return open_database(here);
  }

  /// Those who were there before have begun them, unless the file was replaced since. Read after the counters, it is never
  /// behind them.
  Result<void> join_tokens(Environment& environment) {
    Counters used;
    const auto look = [&used](Counters& counters) { used = counters; };
    if (auto looked = environment.change_counters(look, patience()); !looked) return looked;
    const Result<std::optional<TokenMark>> found = environment.tokens_.read();
    if (!found) return found.error();
    const Result<TokenMark> next = next_mark(*found, used, environment.tokens_.identity());
    if (!next) return next.error();
    if (*found != *next || used.epoch != next->epoch.epoch) return begin_tokens(environment);
    environment.store_id_ = next->epoch.store_id;
    return {};
  }

  /// A new epoch if the token file is new, a copy, or older than what was handed out since the boot, or if any file may
  /// come from a backup; and some tokens for that. Otherwise those that are left are used up first.
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
      // The name must outlive a crash as the content does.
      if (auto synced = environment.folder_.sync(); !synced) return synced;
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
    if (record && (brought_back || restored_)) {
      record->identity.clear();  // whatever it says
      record->epoch = std::max(record->epoch, used.epoch);
    }
    const std::uint64_t earliest = std::max(runtime_.unix_milliseconds(), used.epoch + 1);
    Result<fencing::EpochDecision> decision = fencing::decide(record, identity, earliest, runtime_.random());
    if (!decision) return decision.error();
    next.epoch = decision->record;
    next.mark = std::max(next.mark, used.reserved);
    if (used.epoch != next.epoch.epoch) next.mark += token_block;
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
  bool restored_ = false;  // some file may come from a backup
};

namespace {

/// This process's turn at a folder, until it is let go of.
class Turn {
 public:
  Turn(Opened& all, const Identity& folder) : all_(all), folder_(folder) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const std::lock_guard lock(all_.mutex);
    all_.opening.erase(folder_);
  }

 private:
  Opened& all_;
  const Identity folder_;
};

}  // namespace

Result<std::shared_ptr<Environment>> Environment::open(const FolderOptions& options, base::Runtime& runtime,
                                                       Deadline deadline) {
  Result<Folder> folder = Folder::open(options);
  if (!folder) return folder.error();
  const Identity place(folder->device(), folder->inode());
  Opened& all = opened();
  {
    const std::lock_guard lock(all.mutex);
    forget_the_parents(all);
    if (const auto gate = folder->look("gate")) {
      const Identity identity(gate->st_dev, gate->st_ino);
      if (auto known = all.usable[identity].lock()) return known;
      all.usable.erase(identity);
      if (all.not_closed.contains(identity)) return Error{Errc::busy, "this process is just closing the folder"};
    }
    if (!all.opening.insert(place).second) return Error{Errc::busy, "this process is just opening the folder"};
  }
  // Without the mutex: a disk that hangs must not hold up other folders, or a fork().
  const Turn turn(all, place);
  Result<Gate> gate = Gate::open(*folder);
  if (!gate) return gate.error();
  const Identity identity(gate->device(), gate->inode());
  auto environment = Opening(std::move(*folder), std::move(*gate), runtime, deadline).run();
  if (!environment) return environment;
  const std::lock_guard lock(all.mutex);
  all.usable[identity] = *environment;
  all.not_closed.insert(identity);
  return environment;
}

}  // namespace pawl::store::file
