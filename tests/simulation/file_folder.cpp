#include "tests/simulation/file_folder.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace pawl::test {

namespace file = store::file;
using store::ClaimId;
using store::Notice;

namespace {

constexpr std::size_t capacity = std::size_t{4} << 20;
constexpr std::uint64_t fewest_tokens = 5;  // so that they are used up in the middle of every kind of request

file::Fd memory_file() {
  file::Fd fd(::memfd_create("pawl-simulation", MFD_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), "memfd_create");
  return fd;
}

}  // namespace

FileFolder::FileFolder(base::SimWorld& world)
    : world_(world),
      id_(world.random()),
      database_(file::Database::open(memory_file(), "simulated", capacity).value()) {
  file::Transaction transaction(database_);
  file::Ledger ledger(transaction);
  ledger.counters().epoch = 1'577'836'800'000;
  ledger.save();
  if (transaction.commit() != 0) throw std::runtime_error("the database cannot be written");
}

FileFolder::ProcessKey FileFolder::enter(base::SimProcess& process) {
  processes_.push_back(&process);
  return processes_.size();
}

bool FileFolder::alive(ProcessKey process) const { return !processes_[process - 1]->inert(); }

base::Time FileFolder::death_of(ProcessKey process) const {
  const auto found = deaths_.find(process);
  return found != deaths_.end() ? found->second : base::Time::max();
}

int FileFolder::transact(const std::function<void(Tables&)>& work, Letters& letters, bool& more) {
  file::Transaction transaction(database_);
  Tables tables(transaction, world_.now(), *this);
  tables.sweep();
  work(tables);
  tables.save();
  more = tables.more();
  const int fault = transaction.commit();
  if (fault == 0) letters = std::move(tables.letters());
  return fault;
}

// As token_file and environment do it: a higher mark, in a transaction of its own without a sweep.
void FileFolder::reserve_tokens(std::uint64_t count) {
  file::Transaction transaction(database_);
  file::Ledger ledger(transaction);
  ledger.counters().reserved = ledger.counters().last_token + count;
  ledger.save();
  if (transaction.commit() != 0) throw std::runtime_error("no tokens can be reserved");
}

void FileFolder::visit(ProcessKey who, const std::function<void(Tables&)>& work) {
  ++transactions_;
  Letters letters;
  bool more = false;
  int fault = transact(work, letters, more);
  for (std::uint64_t tokens = fewest_tokens; fault == file::Transaction::out_of_tokens; tokens *= 2) {
    reserve_tokens(tokens);  // one transaction may grant to many
    fault = transact(work, letters, more);
  }
  if (fault != 0) throw std::runtime_error("a transaction failed");
  check_letters(letters);
  if (!letters.empty()) send(who, std::move(letters));
  if (more && who != 0) {
    processes_[who - 1]->send([this, who] { visit(who, [](Tables&) {}); });
  }
}

void FileFolder::send(ProcessKey who, Letters letters) {
  const auto post = [this, letters = std::move(letters)] {
    for (const file::Letter& letter : letters) deliver(letter);
  };
  if (who == 0) return post();
  processes_[who - 1]->send(post);
}

void FileFolder::deliver(const file::Letter& letter) {
  const auto found = watches_.find(letter.to);
  if (found != watches_.end() && alive(letter.process)) found->second.waker(letter.notice);
}

void FileFolder::unwatch(ClaimId claim) {
  watches_.erase(claim);
  behind_.erase(claim);
}

void FileFolder::wait_behind(ProcessKey who, ClaimId claim, std::set<ProcessKey> ahead) {
  for (const ProcessKey process : ahead) {
    if (!alive(process)) bury(who, process);
  }
  behind_[claim] = std::move(ahead);
}

void FileFolder::died(const base::SimProcess& process) {
  const auto place = std::find(processes_.begin(), processes_.end(), &process);
  const auto dead = static_cast<ProcessKey>(place - processes_.begin()) + 1;
  deaths_[dead] = world_.now();
  std::set<ProcessKey> watchers;
  for (const auto& [claim, ahead] : behind_) {
    if (ahead.contains(dead) && watches_.contains(claim)) watchers.insert(watches_[claim].process);
  }
  for (const ProcessKey watcher : watchers) bury(watcher, dead);
}

// As a process does that hears of a death, when it runs.
void FileFolder::bury(ProcessKey watcher, ProcessKey dead) {
  processes_[watcher - 1]->send([this, watcher, dead] {
    visit(watcher, [dead](Tables& tables) { tables.bury(dead); });
    for (const auto& [claim, watch] : watches_) {
      const auto ahead = behind_.find(claim);
      const bool behind = watch.process == watcher && ahead != behind_.end() && ahead->second.contains(dead);
      if (behind) watch.waker({.what = Notice::What::look_again});
    }
  });
}

void FileFolder::read(const std::function<void(file::Transaction&, file::Ledger&)>& reading) {
  file::Transaction transaction(database_);
  file::Ledger ledger(transaction);
  reading(transaction, ledger);
}

void FileFolder::check_letters(const Letters& letters) {
  std::set<ClaimId> waiting;
  std::set<ClaimId> holding;
  read([&](file::Transaction&, file::Ledger& ledger) {
    for (auto key = ledger.lock_after(""); key; key = ledger.lock_after(*key)) {
      const file::LockRecord lock = *ledger.lock(*key);
      if (lock.holder) holding.insert(lock.holder->id);
      for (const file::ClaimRecord& sharer : ledger.sharers(lock.number)) holding.insert(sharer.id);
      for (auto one = ledger.first_waiter(lock.number); one; one = ledger.waiter_behind(lock.number, one->ticket)) {
        waiting.insert(one->id);
      }
    }
  });
  for (const ClaimId claim : std::exchange(waiting_, std::move(waiting))) {
    if (!holding.contains(claim)) continue;
    const bool told =
        std::any_of(letters.begin(), letters.end(), [&](const auto& letter) { return letter.to == claim; });
    if (!told) unheard_ = "claim " + to_string(claim) + " was granted, and nobody was told";
  }
}

}  // namespace pawl::test
