// A table that compares the token in the statement that writes, and what happens to a writer that was overtaken.
#include <pawl/pawl.hpp>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Stands for a table in a database: id, value, token. Each function is one statement, so nobody comes in between.
class Register {
 public:
  /// UPDATE register SET value = :value, token = :token WHERE id = :id AND token <= :token
  /// How many rows were changed: 0 when a later holder has been here.
  int update(const std::string& id, int value, const std::string& token) {
    const std::lock_guard statement(mutex_);
    Row& row = rows_[id];
    if (!(row.token <= token)) return 0;
    row = {value, token};
    return 1;
  }

  int value(const std::string& id) {
    const std::lock_guard statement(mutex_);
    return rows_[id].value;
  }

 private:
  struct Row {
    int value = 0;
    std::string token = std::string(32, '0');  // CHAR(32): the order of the text is the order of the tokens
  };
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
};

bool write(Register& table, int value, const pawl::Hold& hold) {
  const std::string token = hold.token().to_string();
  const bool written = table.update("balance", value, token) == 1;
  std::printf("%d with token %s: %s\n", value, token.c_str(), written ? "written" : "refused, overtaken");
  return written;
}

}  // namespace

int main() {
  Register table;
  auto alice = pawl::Client::open("memory:register").value();
  auto bob = pawl::Client::open("memory:register").value();

  auto first = alice.mutex("balance").acquire({.wait = 2s});
  bool fine = first && write(table, 100, *first);

  // Alice stands still, and somebody takes the lock from her: `pawl revoke --now balance`. A lease that runs out while
  // a process is paused ends the same way.
  fine = bob.revoke("balance", {.now = true}) && fine;
  auto second = bob.mutex("balance").acquire({.wait = 2s});
  fine = second && write(table, 200, *second) && fine;

  // Alice goes on in the middle of her work, and has not looked at lost(). Her write comes too late.
  fine = first && !write(table, 101, *first) && fine;
  fine = second && write(table, 201, *second) && fine;

  std::printf("the balance is %d\n", table.value("balance"));
  return fine && table.value("balance") == 201 ? 0 : 1;
}
