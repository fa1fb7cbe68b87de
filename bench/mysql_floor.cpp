// What a lock on MySQL or MariaDB cannot do without: the C client, blocking, and prepared statements. A participant of
// bench/mysql_bench.py, with these schemes:
//
// pair      INSERT a row and DELETE it: a lock that nobody else wants
// named     GET_LOCK and RELEASE_LOCK, on a connection of its own; waits in GET_LOCK
// token     the same, and before the lock is used a counter is raised, and committed
// poll-MS   INSERT a row with a unique name; where there is one already, sleep so many milliseconds and try again. DELETE. As
//           locks in tables usually wait

#include "bench/participant.hpp"

#include <mariadb/mysql.h>
#include <mariadb/mysqld_error.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace pawl::bench {

namespace {

constexpr std::int64_t millisecond = 1'000'000;

/// "mysql://user:password@127.0.0.1:3306/database".
class Wire {
 public:
  explicit Wire(const std::string& url) : handle_(mysql_init(nullptr), mysql_close) {
    std::array<char, 64> user{}, password{}, host{}, database{};
    unsigned port = 0;
    if (std::sscanf(url.c_str(), "mysql://%63[^:]:%63[^@]@%63[^:]:%u/%63[^?]", user.data(), password.data(),
                    host.data(), &port, database.data()) != 5) {
      throw std::runtime_error("not a URL: " + url);
    }
    if (mysql_real_connect(handle_.get(), host.data(), user.data(), password.data(), database.data(), port, nullptr,
                           0) == nullptr) {
      throw std::runtime_error(mysql_error(handle_.get()));
    }
  }
  MYSQL* get() const { return handle_.get(); }
  void run(const char* statement) {
    if (mysql_query(get(), statement) != 0) throw std::runtime_error(mysql_error(get()));
  }

 private:
  std::unique_ptr<MYSQL, void (*)(MYSQL*)> handle_;
};

/// Prepared, with one text, and a number as its result if it has one.
class Statement {
 public:
  Statement(const Wire& wire, const std::string& text, std::string value)
      : statement_(mysql_stmt_init(wire.get()), mysql_stmt_close), value_(std::move(value)), size_(value_.size()) {
    if (mysql_stmt_prepare(get(), text.data(), text.size()) != 0) fail();
    MYSQL_BIND parameter{};
    parameter.buffer_type = MYSQL_TYPE_STRING;
    parameter.buffer = value_.data();
    parameter.buffer_length = size_;
    parameter.length = &size_;
    if (mysql_stmt_param_count(get()) == 1 && mysql_stmt_bind_param(get(), &parameter) != 0) fail();
  }

  /// False: there is such a row already.
  bool run() {
    if (mysql_stmt_execute(get()) == 0) return true;
    if (mysql_stmt_errno(get()) == ER_DUP_ENTRY) return false;
    fail();
  }
  std::int64_t ask() {
    run();
    long long number = 0;
    MYSQL_BIND result{};
    result.buffer_type = MYSQL_TYPE_LONGLONG;
    result.buffer = &number;
    if (mysql_stmt_bind_result(get(), &result) != 0 || mysql_stmt_fetch(get()) != 0) fail();
    mysql_stmt_free_result(get());
    return number;
  }

 private:
  MYSQL_STMT* get() const { return statement_.get(); }
  [[noreturn]] void fail() const { throw std::runtime_error(mysql_stmt_error(get())); }

  const std::unique_ptr<MYSQL_STMT, my_bool (*)(MYSQL_STMT*)> statement_;
  std::string value_;
  unsigned long size_;
};

void sleep_for(std::int64_t nanoseconds) {
  const timespec pause{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
  ::nanosleep(&pause, nullptr);
}

class RowLock final : public Lock {
 public:
  RowLock(const std::string& url, const std::string& name, std::int64_t pause)
      : wire_(url),
        insert_(wire_, "INSERT INTO floor_lock VALUES (?, '')", name),
        remove_(wire_, "DELETE FROM floor_lock WHERE name = ?", name),
        pause_(pause) {}

  bool acquire(std::int64_t until) override {
    while (!insert_.run()) {
      const std::int64_t left = until - now();
      if (left <= 0) return false;
      sleep_for(std::min(pause_, left));
    }
    return true;
  }
  void release() override { remove_.run(); }

 private:
  Wire wire_;
  Statement insert_;
  Statement remove_;
  const std::int64_t pause_;
};

class NamedLock final : public Lock {
 public:
  NamedLock(const std::string& url, const std::string& name, bool with_token)
      : wire_(url),
        name_(name),
        try_(wire_, "SELECT GET_LOCK(?, 0)", name),
        release_(wire_, "SELECT RELEASE_LOCK(?)", name),
        wait_(wire_, "SELECT GET_LOCK(?, 1)", name),
        token_(wire_, "UPDATE floor_counter SET counter = counter + 1", ""),
        with_token_(with_token) {}

  bool acquire(std::int64_t until) override {
    while (try_.ask() != 1) {
      if (wait_.ask() == 1) break;
      if (now() >= until) return false;
    }
    if (with_token_) token_.run();
    return true;
  }
  void release() override { release_.ask(); }

 private:
  Wire wire_;
  const std::string name_;
  Statement try_;
  Statement release_;
  Statement wait_;
  Statement token_;
  const bool with_token_;
};

class Floor final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int) override {
    url_ = url;
    scheme_ = scheme;
    Wire wire(url);
    wire.run("CREATE TABLE IF NOT EXISTS floor_lock (name VARCHAR(200) PRIMARY KEY, owner VARCHAR(200) NOT NULL)");
    wire.run("CREATE TABLE IF NOT EXISTS floor_counter (counter BIGINT PRIMARY KEY)");
    wire.run("INSERT INTO floor_counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM floor_counter)");
  }
  std::unique_ptr<Lock> lock(const std::string& name, int) override {
    const std::string poll = "poll-";
    if (scheme_ == "named") return std::make_unique<NamedLock>(url_, name, false);
    if (scheme_ == "token") return std::make_unique<NamedLock>(url_, name, true);
    if (scheme_ == "pair") return std::make_unique<RowLock>(url_, scheme_ + name, millisecond);
    if (scheme_.starts_with(poll)) {
      return std::make_unique<RowLock>(url_, scheme_ + name, std::stoll(scheme_.substr(poll.size())) * millisecond);
    }
    throw std::runtime_error("no such scheme: " + scheme_);
  }
  std::unique_ptr<Lock> lock_of_thread(const std::string& name, int thread) override { return lock(name, thread); }

 private:
  std::string url_;
  std::string scheme_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  mysql_library_init(0, nullptr, nullptr);
  pawl::bench::Floor floor;
  return pawl::bench::serve(floor);
}
