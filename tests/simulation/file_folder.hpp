#pragma once

#include "base/simulated_runtime.hpp"
#include "store/file/tables.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::test {

/// A folder of the file store inside a simulated world: its rules (store/file/tables) over a real LMDB in memory, one
/// transaction per request. What stands around them in the product is simulated: who lives, the token file, the mailboxes.
/// A process that is paused or crashes between its transaction and its letters sends them late, or never.
class FileFolder final : private store::file::Roll {
 public:
  using ProcessKey = store::file::ProcessKey;
  using Tables = store::file::Tables;

  /// The world must outlive it.
  explicit FileFolder(base::SimWorld& world);

  std::uint64_t id() const { return id_; }
  /// A new process.
  ProcessKey enter(base::SimProcess& process);
  /// It is dead: those that wait just behind it hear of that.
  void died(const base::SimProcess& process);

  /// One transaction of that process, with the sweep that every one begins with. 0: of somebody who sends letters at once.
  void visit(ProcessKey who, const std::function<void(Tables&)>& work);
  template <class T>
  T ask(ProcessKey who, const std::function<T(Tables&)>& work) {
    std::optional<T> answer;
    visit(who, [&](Tables& tables) { answer.emplace(work(tables)); });
    return std::move(*answer);
  }

  void watch(ProcessKey who, store::ClaimId claim, store::Waker waker) { watches_[claim] = {who, std::move(waker)}; }
  void unwatch(store::ClaimId claim);
  /// The claim waits just behind these: the death of one is news to it.
  void wait_behind(ProcessKey who, store::ClaimId claim, std::set<ProcessKey> ahead);

  /// Reads the records without the rules, and changes nothing.
  void read(const std::function<void(store::file::Transaction&, store::file::Ledger&)>& reading);
  base::Time now() const { return world_.now(); }
  /// The end of time, while it lives.
  base::Time death_of(ProcessKey process) const;
  std::uint64_t transactions() const { return transactions_; }
  /// A claim that waited was granted by another one's request, and no letter was written.
  const std::optional<std::string>& unheard() const { return unheard_; }

 private:
  struct Watch {
    ProcessKey process = 0;
    store::Waker waker = {};
  };
  using Letters = std::vector<store::file::Letter>;

  bool alive(ProcessKey process) const override;
  int transact(const std::function<void(Tables&)>& work, Letters& letters, bool& more);
  void reserve_tokens(std::uint64_t count);
  void send(ProcessKey who, Letters letters);
  void deliver(const store::file::Letter& letter);
  void bury(ProcessKey watcher, ProcessKey dead);
  void check_letters(const Letters& letters);

  base::SimWorld& world_;
  const std::uint64_t id_;
  store::file::Database database_;
  std::vector<base::SimProcess*> processes_ = {};  // a key is a place here, and one more
  std::map<ProcessKey, base::Time> deaths_;
  std::map<store::ClaimId, Watch> watches_;
  std::map<store::ClaimId, std::set<ProcessKey>> behind_;
  std::set<store::ClaimId> waiting_;
  std::optional<std::string> unheard_;
  std::uint64_t transactions_ = 0;
};

}  // namespace pawl::test
