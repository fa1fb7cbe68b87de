// A table whose statements compare the token: a holder marks its row before it reads, and a writer that was overtaken is
// refused.
#include <pawl/pawl.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Stands for a table in a database: id, value, store, token. Each function is one statement, so nobody comes in between.
class Register {
 public:
  /// UPDATE register SET store = :store, token = :token
  /// WHERE id = :id AND token <= :token AND (store IS NULL OR store = :store)
  /// How many rows were changed: 0 when a later holder has been here, or a holder from another store.
  int mark(const std::string& id, const pawl::Sequencer& by) {
    const std::lock_guard statement(mutex_);
    Row& row = rows_[id];
    if (row.token > by.token.to_string() || row.store.value_or(by.store_id) != by.store_id) return 0;
    row.store = by.store_id;
    row.token = by.token.to_string();
    return 1;
  }

  /// UPDATE register SET value = :value WHERE id = :id AND store = :store AND token = :token
  int update(const std::string& id, int value, const pawl::Sequencer& by) {
    const std::lock_guard statement(mutex_);
    Row& row = rows_[id];
    if (row.store != by.store_id || row.token != by.token.to_string()) return 0;
    row.value = value;
    return 1;
  }

  int value(const std::string& id) {
    const std::lock_guard statement(mutex_);
    return rows_[id].value;
  }

 private:
  struct Row {
    int value = 0;
    std::optional<std::uint64_t> store = {};
    std::string token = std::string(32, '0');  // CHAR(32): the order of the text is the order of the tokens
  };
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
};

bool mark(Register& table, const pawl::Hold& hold) { return table.mark("balance", hold.sequencer()) == 1; }

bool write(Register& table, int value, const pawl::Hold& hold) {
  const bool written = table.update("balance", value, hold.sequencer()) == 1;
  std::printf("%d with token %s: %s\n", value, hold.token().to_string().c_str(),
              written ? "written" : "refused, overtaken");
  return written;
}

}  // namespace

int main() {
  Register table;
  auto alice = pawl::Client::open("memory:register").value();
  auto bob = pawl::Client::open("memory:register").value();

  auto first = alice.mutex("balance").acquire({.wait = 2s});
  bool fine = first && mark(table, *first) && write(table, 100, *first);
  const int seen_by_alice = table.value("balance");

  // Alice is paused, and somebody takes the lock from her: `pawl revoke --now balance`. A lease that runs out while a
  // process is paused ends the same way.
  fine = bob.revoke("balance", {.now = true}) && fine;
  auto second = bob.mutex("balance").acquire({.wait = 2s});
  fine = second && mark(table, *second) && fine;  // right after the grant, before the first read
  const int seen_by_bob = table.value("balance");

  // Alice goes on in the middle of her work, and has not looked at lost(). Bob has not written yet, but he has marked.
  fine = first && !write(table, seen_by_alice + 7, *first) && fine;
  fine = second && write(table, seen_by_bob + 1, *second) && fine;

  std::printf("the balance is %d\n", table.value("balance"));
  return fine && table.value("balance") == 101 ? 0 : 1;
}
