#pragma once

#include "tests/support/mysql_server.hpp"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace pawl::test {

/// Calls the procedures that clients call, for sessions and claims that no client looks after: they never renew, and never
/// answer. The tables must be there already (a client was there). Counts what a call does.
class ProcedureUser {
 public:
  using Rows = std::vector<std::vector<std::string>>;

  /// What a claim asks for, beside its lock.
  struct Wish {
    bool shared = false;
    std::string delay = "0";  ///< microseconds
    int permits = 0;
    int of = permits;  ///< that there are
  };

  /// Rows that the server has read, and those that it has changed, for one call.
  struct Work {
    std::uint64_t read = 0;
    std::uint64_t changed = 0;
  };

  explicit ProcedureUser(const MysqlServer& server) : client_(server.port(), "pawl", "secret", "pawl") {
    client_.query(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION sql_mode = 'STRICT_TRANS_TABLES', SESSION "
        "innodb_lock_wait_timeout = 30");
  }

  /// 32 hex digits, of a session or of a claim.
  static std::string id(int number) {
    return (std::ostringstream() << std::hex << std::setw(32) << std::setfill('0') << number).str();
  }
  /// The same in SQL, of a number in SQL.
  static std::string id_sql(const std::string& number) { return "LOWER(LPAD(HEX(" + number + "), 32, '0'))"; }

  MysqlClient& client() { return client_; }
  std::string field(const std::string& statement) { return client_.field(statement); }
  int count(const std::string& from) { return std::stoi(field("SELECT COUNT(*) FROM " + from)); }

  void open(int session) { call("open_session", quoted({id(session), "3600000000", "mail", "host", "1", ""})); }
  /// What the queue answers. `lock` with its kind: "rw:job". Queues where it is not free.
  std::string claim(int session, int claim, const std::string& lock, const Wish& wish, bool may_queue = true) {
    const std::string name = lock.substr(lock.find(':') + 1);
    return call("claim", quoted({id(claim), id(session), "pawl/" + lock, name, wish.shared ? "1" : "0",
                                 std::to_string(wish.permits), std::to_string(wish.of), "3600000000", wish.delay,
                                 may_queue ? "1" : "0", "", ""}))[0][0];
  }
  std::string claim(int session, int number, const std::string& lock) { return claim(session, number, lock, Wish()); }
  std::string try_claim(int session, int number, const std::string& lock) {
    return claim(session, number, lock, Wish(), false);
  }
  std::string claim_unique(int session, int claim, const std::string& name) {
    return call("unique_claim",
                quoted({id(claim), id(session), "pawl~unique/mutex:" + name, name, "3600000000", "0", "0", ""}))[0][0];
  }
  /// Whether it was there. `lock` as the tables call it.
  bool withdraw_id(int session, int claim, const std::string& lock) {
    return call("withdraw", quoted({id(claim), id(session), lock, "0", "0"}))[0][0] == "1";
  }
  bool withdraw(int session, int claim, const std::string& lock) { return withdraw_id(session, claim, "pawl/" + lock); }
  /// Whether it waits ("0"), holds ("1"), or is gone ("NULL").
  std::string look(int session, int claim, const std::string& lock) {
    return call("look", quoted({id(claim), id(session), "pawl/" + lock}))[0][0];
  }
  /// Whether all was done.
  bool close(int session) { return call("close_session", quoted({id(session)}))[0][0] == "1"; }
  bool renew(int session) { return call("renew", quoted({id(session)}))[0][0] == "1"; }

  /// All sessions of before, and what they hold, have failed.
  void let_all_end() {
    client_.query("UPDATE pawl_session SET ends = 1; UPDATE pawl_claim SET until = 1 WHERE until IS NOT NULL; COMMIT");
  }

  Rows call(const std::string& procedure, const std::string& words) {
    const Work before = work_so_far();
    const Rows rows = client_.query("CALL pawl_" + procedure + "(" + words + ")");
    const Work after = work_so_far();
    most_.read = std::max(most_.read, after.read - before.read);
    most_.changed = std::max(most_.changed, after.changed - before.changed);
    return rows;
  }
  static std::string quoted(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "'" : ",'") + word + "'";
    return text;
  }

  /// By one call, since forget_work(), at the most.
  Work most() const { return most_; }
  void forget_work() { most_ = {}; }

 private:
  Work work_so_far() {
    Work work;
    for (const auto& row : client_.query("SHOW SESSION STATUS LIKE 'Handler_%'")) {
      const std::string& name = row[0];
      const std::uint64_t number = std::stoull(row[1]);
      // Whatever it does with temporary tables, it does with rows that it has read.
      if (name.starts_with("Handler_read_") && name != "Handler_read_rnd_deleted") work.read += number;
      if (name == "Handler_write" || name == "Handler_update" || name == "Handler_delete") work.changed += number;
    }
    return work;
  }

  MysqlClient client_;

  Work most_ = {};
};

}  // namespace pawl::test
