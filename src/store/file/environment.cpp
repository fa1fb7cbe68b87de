#include "store/file/environment.hpp"

#include "base/lock_name.hpp"
#include "base/threads.hpp"
#include "store/file/listener.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::file {

namespace {

using End = Environment::Attempt::End;

constexpr Duration look_every = std::chrono::milliseconds(5);

/// Lets go on every way out.
class Inside {
 public:
  explicit Inside(WriterMutex& mutex) : mutex_(mutex) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { mutex_.unlock(); }

 private:
  WriterMutex& mutex_;
};

}  // namespace

Environment::Environment(Folder folder, Gate gate, TokenFile tokens, Database database)
    : folder_(std::move(folder)),
      gate_(std::move(gate)),
      tokens_(std::move(tokens)),
      database_(std::move(database)),
      generation_(base::fork_generation()),
      pid_(::getpid()) {}

Environment::~Environment() = default;

bool Environment::inherited() const { return base::fork_generation() != generation_; }

/// Asks the kernel once in a while: a deletion is an accident, and a renewal would notice it as well.
bool Environment::deleted(Time now) {
  if (now < next_look_.load(std::memory_order_relaxed)) return false;
  if (gate_.gone()) return true;
  next_look_.store(now + look_every, std::memory_order_relaxed);
  return false;
}

bool Environment::gone(bool thorough) const { return gate_.gone() || (thorough && !folder_.still_there()); }

Environment::Attempt Environment::attempt(const Work& work, base::Runtime& runtime, Duration patience) {
  WriterMutex& mutex = gate_.mutex();
  if (!mutex.lock_within(patience, pid_)) return {End::busy, no_entry()};
  std::vector<Letter> letters;
  Attempt attempt;
  {
    const Inside inside(mutex);
    const Time now = runtime.now();  // read inside: requests see it in their order
    if (deleted(now)) {
      return {End::gone,
              {Errc::lost, fmt::format("the store's folder \"{}\" was deleted", base::printable(folder_.path()))}};
    }
    attempt = transact(work, runtime, now, letters);
  }
  if (attempt.end == End::done) send(letters);
  return attempt;
}

Environment::Attempt Environment::transact(const Work& work, base::Runtime& runtime, Time now,
                                           std::vector<Letter>& letters) {
  Transaction transaction(database_);
  Tables tables(transaction, now, gate_);
  tables.sweep();
  work(tables);
  tables.save();
  const Counters& counters = tables.counters();
  const std::uint64_t left = counters.reserved - counters.last_token;
  const bool more = tables.more();
  const int fault = transaction.commit();
  if (fault == 0) {
    note_write(runtime);
    low_on_tokens_ = left < token_block / 2;
    more_to_sweep_ = more;
    letters = std::move(tables.letters());
    return {};
  }
  if (fault == Transaction::out_of_tokens) return {End::out_of_tokens, {}};
  Error error = describe_fault(fault, database_.shown());
  if (transaction.panicked() || fault == MDB_PANIC) {
    if (transaction.panicked()) error.code = Errc::outcome_unknown;
    // If that fails, the next transaction tries it again.
    if (const int again = database_.reopen(); again != 0)
      error.message = describe_fault(again, database_.shown()).message;
  }
  return {End::failed, std::move(error)};
}

Error Environment::no_entry() const {
  return {Errc::store_unavailable,
          fmt::format("\"{}\": {}", base::printable(folder_.path()), describe_writer(gate_.mutex().writer()))};
}

Result<void> Environment::change_counters(const std::function<void(Counters&)>& change, Duration patience) {
  if (!gate_.mutex().lock_within(patience, pid_)) return no_entry();
  const Inside inside(gate_.mutex());
  Transaction transaction(database_);
  Ledger ledger(transaction);
  change(ledger.counters());
  ledger.save();
  const int fault = transaction.commit();
  return fault == 0 ? Result<void>() : describe_fault(fault, database_.shown());
}

Result<TokenMark> Environment::raise_mark(base::Runtime& runtime, const Counters& used, bool new_epoch) {
  const Result<std::optional<TokenMark>> found = tokens_.read();
  if (!found) return found.error();
  if (!*found || tokens_.gone()) {
    return Error{Errc::store_unavailable,
                 fmt::format("\"{}\" was deleted: end all that use the folder, then start again",
                             base::printable(folder_.shown("tokens")))};
  }
  // A backup may have been written over the file since: what was handed out is known here as well.
  TokenMark next = **found;
  next.epoch.epoch = std::max(next.epoch.epoch, used.epoch);
  next.mark = std::max(next.mark, used.reserved) + token_block;
  if (new_epoch) {
    const Result<std::uint64_t> epoch = fencing::next_epoch(next.epoch.epoch, runtime.unix_milliseconds());
    if (!epoch) return epoch.error();
    next.epoch.epoch = *epoch;
  }
  if (auto written = tokens_.write(next); !written) return written.error();
  return next;
}

Result<std::uint64_t> Environment::reserve_tokens(base::Runtime& runtime, bool new_epoch, Duration patience) {
  const std::lock_guard one_at_a_time(reserve_mutex_);
  Counters used;
  const auto look = [&used](Counters& counters) { used = counters; };
  if (auto looked = change_counters(look, patience); !looked) return looked.error();
  if (const auto other = gate_.try_take(Gate::Right::reserve_tokens)) {
    return Error{Errc::busy, fmt::format("process {} is just reserving tokens", other->pid)};
  }
  const Result<TokenMark> next = raise_mark(runtime, used, new_epoch);
  gate_.give_back(Gate::Right::reserve_tokens);
  if (!next) return next.error();
  const auto note = [&next](Counters& counters) {
    if (next->epoch.epoch < counters.epoch) return;  // somebody has raised it once more
    if (next->epoch.epoch > counters.epoch) counters.last_token = next->mark - token_block;
    counters.epoch = next->epoch.epoch;
    counters.reserved = std::max(counters.reserved, next->mark);
  };
  if (auto noted = change_counters(note, patience); !noted) return noted.error();
  note_write(runtime);
  return next->epoch.epoch;
}

void Environment::send(const std::vector<Letter>& letters) {
  for (const Letter& letter : letters) {
    if (letter.process == process_) {
      notices_.tell(letter.to, letter.notice);
    } else {
      post_office_.send(folder_, gate_, letter);
    }
  }
}

Result<std::shared_ptr<Listener>> Environment::listener(base::Runtime& runtime) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Listener>& place = listeners_[&runtime];
  if (auto known = place.lock()) return known;
  Result<std::shared_ptr<Listener>> made = Listener::open(shared_from_this(), runtime);
  if (made) place = *made;
  return made;
}

}  // namespace pawl::store::file
