#include "tests/simulation/played_file.hpp"

#include "store/file/queue.hpp"
#include "tests/simulation/file_client.hpp"
#include "tests/simulation/file_folder.hpp"

#include <fmt/format.h>

#include <utility>

namespace pawl::test {

namespace {

namespace file = store::file;
using file::Key;
using file::Ledger;
using file::Transaction;

/// The keys of one of the tables that are listed in store/file/records.hpp.
std::vector<std::string> keys_of(Transaction& transaction, char table) {
  const std::string prefix(1, table);
  std::vector<std::string> keys;
  for (auto entry = transaction.first(Key(table)); entry;
       entry = transaction.after(Key(table).text(std::string_view(keys.back()).substr(1)), prefix)) {
    keys.emplace_back(entry->key);
  }
  return keys;
}

store::SessionId session_in(const std::string& key, std::size_t at = 1) {
  return {file::number_in(key, at), file::number_in(key, at + 8)};
}

constexpr std::size_t session_key_size = 17;  // a letter and an id

class PlayedFile final : public PlayedStore {
 public:
  explicit PlayedFile(base::SimWorld& world) : folder_(std::make_shared<FileFolder>(world)) {}

  const store::Capabilities& capabilities() const override { return file::Queue::declared; }

  std::shared_ptr<FaultyStore> connect(base::SimProcess& client, std::shared_ptr<FaultPlan> faults) override {
    auto store = std::make_shared<FileClient>(folder_, client);
    return std::make_shared<FaultyStore>(std::move(store), client, std::move(faults), client);
  }

  std::uint64_t requests() override { return folder_->transactions(); }
  void died(const base::SimProcess& client) override { folder_->died(client); }
  void forget(store::SessionId session) override {
    folder_->visit(0, [&](file::Tables& tables) { tables.close_session(session); });
  }

  std::vector<LockView> locks() override {
    std::vector<LockView> views;
    folder_->read([&](Transaction&, Ledger& ledger) {
      for (auto key = ledger.lock_after(""); key; key = ledger.lock_after(*key)) {
        views.push_back(view(ledger, *ledger.lock(*key)));
      }
    });
    return views;
  }

  Kept kept() override {
    folder_->visit(0, [](file::Tables&) {});
    Kept kept;
    folder_->read([&](Transaction& transaction, Ledger& ledger) { count(transaction, ledger, kept); });
    return kept;
  }

  std::optional<std::string> complaint() override {
    std::optional<std::string> complaint = folder_->unheard();
    folder_->read([&](Transaction& transaction, Ledger& ledger) {
      if (!complaint) complaint = check_sessions(transaction, ledger);
      if (!complaint) complaint = check_locks(ledger);
    });
    return complaint;
  }

 private:
  bool lives(Ledger& ledger, const file::ClaimRecord& claim) const {
    const auto session = ledger.session(claim.session);
    return session && session->ends > folder_->now();
  }

  ClaimView view(Ledger& ledger, const file::ClaimRecord& claim) const {
    ClaimView view;
    view.claim = to_string(claim.id);
    view.mode = claim.mode;
    view.owner = ledger.session(claim.session)->owner;
    if (!claim.label.empty()) view.owner.label = claim.label;
    view.token = claim.token;
    view.slots = claim.slots;
    view.permits = claim.permits;
    view.value = claim.value;
    return view;
  }

  LockView view(Ledger& ledger, const file::LockRecord& lock) const {
    LockView seen;
    seen.kind = lock.key.kind;
    seen.name = lock.key.name.bytes();
    seen.scheme = "queue";
    for (const file::ClaimRecord& holder : holders(ledger, lock)) {
      if (lives(ledger, holder)) seen.holders.push_back(view(ledger, holder));
    }
    for (const file::ClaimRecord& waiter : waiters(ledger, lock)) {
      if (lives(ledger, waiter)) seen.waiters.push_back(view(ledger, waiter));
    }
    return seen;
  }

  static std::vector<file::ClaimRecord> holders(Ledger& ledger, const file::LockRecord& lock) {
    if (lock.holder) return {*lock.holder};
    return ledger.sharers(lock.number);
  }

  static std::vector<file::ClaimRecord> waiters(Ledger& ledger, const file::LockRecord& lock) {
    std::vector<file::ClaimRecord> all;
    for (auto one = ledger.first_waiter(lock.number); one; one = ledger.waiter_behind(lock.number, one->ticket)) {
      all.push_back(*one);
    }
    return all;
  }

  /// What belongs to a session that is there no more.
  static void count(Transaction& transaction, Ledger& ledger, Kept& kept) {
    for (auto key = ledger.lock_after(""); key; key = ledger.lock_after(*key)) {
      const file::LockRecord lock = *ledger.lock(*key);
      ++kept.keys;
      kept.claims += holders(ledger, lock).size() + waiters(ledger, lock).size();
    }
    for (const char table : {'s', 'u', 'e'}) {
      for (const std::string& key : keys_of(transaction, table)) {
        const bool is_session = table == 's' && key.size() == session_key_size;
        if (is_session) ++kept.sessions;
        if (is_session || ledger.has_session(session_in(key))) continue;
        kept.others = fmt::format("a record of table {}, of session {}", table, to_string(session_in(key)));
      }
    }
  }

  std::optional<std::string> check_sessions(Transaction& transaction, Ledger& ledger) const {
    for (const std::string& key : keys_of(transaction, 's')) {
      if (key.size() != session_key_size) continue;
      const file::SessionRecord session = *ledger.session(session_in(key));
      if (session.ends <= base::after(folder_->now(), session.lease)) continue;
      return fmt::format("session {} lives longer than its lease", to_string(session_in(key)));
    }
    return std::nullopt;
  }

  std::optional<std::string> check_locks(Ledger& ledger) const {
    for (auto key = ledger.lock_after(""); key; key = ledger.lock_after(*key)) {
      const file::LockRecord lock = *ledger.lock(*key);
      if (lock.waiters != waiters(ledger, lock).size()) return lock.key.name.quoted() + " miscounts its waiters";
      if (!lock.holder && lock.sharers != holders(ledger, lock).size()) {
        return lock.key.name.quoted() + " miscounts its holders";
      }
      for (const file::ClaimRecord& holder : holders(ledger, lock)) {
        const auto session = ledger.session(holder.session);
        const auto ended = session ? session->ends : ledger.ended(holder.session).value_or(base::Time::max());
        if (holder.since > ended) return "claim " + to_string(holder.id) + " was granted when its session had ended";
        if (session && holder.since > folder_->death_of(session->process)) {
          return "claim " + to_string(holder.id) + " was granted to a dead process";
        }
        const auto place = ledger.place(holder.session, holder.id);
        if (!place || place->tombstone) return "claim " + to_string(holder.id) + " holds, and has no place";
      }
    }
    return std::nullopt;
  }

  const std::shared_ptr<FileFolder> folder_;
};

}  // namespace

std::shared_ptr<PlayedStore> play_file(base::SimWorld& world, base::SimProcess&) {
  return std::make_shared<PlayedFile>(world);
}

}  // namespace pawl::test
