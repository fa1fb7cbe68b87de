#include "store/mysql/server.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "store/credentials.hpp"
#include "store/mysql/answers.hpp"
#include "store/mysql/schema.hpp"

#include <mariadb/mysqld_error.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace pawl::store::mysql {

namespace {

// How long the listener sleeps at the most; below long_query_time, or the server logs it.
constexpr std::int64_t longest_nap_ms = 5000;
constexpr std::int64_t poll_ms = 20;

/// The same server, started again: its uptime is whole seconds.
constexpr std::int64_t tolerance = 2;

Error gone() { return {Errc::store_unavailable, "the connection is closed"}; }

bool is_denied(const Answer& answer) { return error_of(answer).code == Errc::permission_denied; }

/// The server is another one than before, or is not what it was.
bool must_reconnect(unsigned number) {
  constexpr unsigned read_only_mode = 1836;
  return number == ER_OPTION_PREVENTS_STATEMENT || number == read_only_mode || number == ER_SP_DOES_NOT_EXIST ||
         number == ER_NO_SUCH_TABLE || number == ER_QUERY_INTERRUPTED || number == ER_SERVER_SHUTDOWN;
}

std::string first_line_of(const std::string& statement) {
  std::size_t begin = 0;
  while (statement.compare(begin, 2, "--") == 0 || statement[begin] == '\n') begin = statement.find('\n', begin) + 1;
  return statement.substr(begin, statement.find('\n', begin) - begin);
}

}  // namespace

Server::Server(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      config_(std::move(config)),
      mailbox_(base::to_string(runtime.make_id<ClaimId>())),
      fresh_id_(runtime.random()) {}

// On the executor, whichever thread ends it.
Server::~Server() {
  if (runtime_.inert()) return;
  base::or_out_of_memory([this] {
    std::vector<SharedConnection> all{statements_, listener_};
    for (const std::weak_ptr<Connection>& own : own_) all.push_back(own.lock());
    runtime_.send([connections = std::move(all)] {
      for (const auto& connection : connections) {
        if (connection) connection->stop();
      }
    });
  });
}

void Server::attach(Surroundings surroundings) {
  config_.timeout = surroundings.timeout;
  surroundings_ = std::move(surroundings);
}

Connection::Plan Server::plan_for_all() {
  Connection::Plan plan;
  plan.address = config_.address();
  plan.database = config_.database;
  plan.tls = config_.tls;
  plan.timeout = config_.timeout;
  plan.patience = config_.timeout;
  const std::weak_ptr<Server> weak = weak_from_this();
  plan.credentials = [weak]() -> awaitable<Result<std::optional<base::Credentials>>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    co_return co_await self->credentials();
  };
  return plan;
}

Server::SharedConnection Server::make_connection(Role role) {
  Connection::Plan plan = plan_for_all();
  const std::weak_ptr<Server> weak = weak_from_this();
  plan.greet = [weak, role]() -> awaitable<Result<void>> {
    const auto self = weak.lock();
    if (!self) co_return gone();
    if (role == Role::listener) co_return co_await self->greet_listener();
    if (role == Role::schema) co_return co_await self->set_up(self->schema_);
    co_return co_await self->greet();
  };
  if (role == Role::listener) {
    plan.patience += std::chrono::milliseconds(longest_nap_ms);
    plan.up = [weak] {
      if (const auto self = weak.lock()) self->listen_anew();
    };
  } else if (role == Role::statements) {
    plan.up = [weak] {
      if (const auto self = weak.lock()) self->up_again();
    };
    plan.down = [weak](const Error& why) {
      const auto self = weak.lock();
      if (self && self->surroundings_.reconnecting) self->surroundings_.reconnecting(why.message);
    };
  }
  return std::make_shared<Connection>(runtime_, std::move(plan));
}

awaitable<Result<std::optional<base::Credentials>>> Server::credentials() {
  const auto self = shared_from_this();
  CredentialSource source{config_.credentials, config_.password_file, surroundings_.credentials, this};
  co_return co_await find_credentials(runtime_, std::move(source));
}

awaitable<Result<void>> Server::connect(Deadline deadline) {
  if (!statements_) statements_ = make_connection(Role::statements);
  return statements_->ready(deadline);
}

awaitable<Result<void>> Server::listen(Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connect(deadline);
  if (!up) co_return up;
  if (!listener_) {
    listener_ = make_connection(Role::listener);
    base::spawn(runtime_, hear(weak_from_this(), listener_));
  }
  co_return co_await listener_->ready(deadline);
}

awaitable<Result<void>> Server::set_up(SharedConnection connection) {
  const auto self = shared_from_this();
  // What the procedures rely on, and what they are made with.
  const std::vector<std::string> settings{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                                          "SET SESSION sql_mode = 'STRICT_TRANS_TABLES', SESSION "
                                          "innodb_lock_wait_timeout = 5, SESSION wait_timeout = 28800, "
                                          "SESSION autocommit = 1"};
  for (const std::string& setting : settings) {
    Statement statement(setting);
    Result<Answer> answer = co_await connection->ask(std::move(statement));
    if (!answer) co_return answer.error();
    if (answer->refused != 0) co_return error_of(*answer);
  }
  co_return Result<void>();
}

awaitable<Result<Identity>> Server::look_at_server(SharedConnection connection) {
  const auto self = shared_from_this();
  Statement variables(
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
      "('server_uuid', 'server_uid', 'hostname', 'port', 'read_only', 'log_bin', 'binlog_format', 'wsrep_on', "
      "'group_replication_group_name', 'group_replication_single_primary_mode')");
  Result<Answer> found = co_await connection->ask(std::move(variables));
  if (!found) co_return found.error();
  if (found->refused != 0) co_return error_of(*found);
  std::map<std::string, std::string> known;
  for (const Row& row : found->rows) {
    if (row.size() == 2) known[row[0]] = row[1];
  }
  if (known["read_only"] != "OFF") co_return Error{Errc::store_unavailable, "the server is read-only: a replica?"};
  if (known["log_bin"] == "ON" && known["binlog_format"] == "STATEMENT") {
    co_return Error{
        Errc::unsupported,
        "the server has binlog_format=STATEMENT, which READ COMMITTED cannot be used with; MIXED or ROW is right"};
  }
  Statement uptime("SHOW GLOBAL STATUS LIKE 'Uptime'");
  Result<Answer> up = co_await connection->ask(std::move(uptime));
  if (!up) co_return up.error();
  Statement clock("SELECT UNIX_TIMESTAMP()");
  Result<Answer> now = co_await connection->ask(std::move(clock));
  if (!now) co_return now.error();
  if (up->rows.size() != 1 || up->rows[0].size() != 2 || now->rows.size() != 1) co_return unexpected();
  Identity identity = identity_of(known, now->rows[0][0], up->rows[0][1]);
  identity.many_writers = has_many_writers(known);
  co_return identity;
}

awaitable<Result<void>> Server::greet() {
  const auto self = shared_from_this();
  Result<void> ready = co_await set_up(statements_);
  if (!ready) co_return ready;
  Result<Identity> identity = co_await look_at_server(statements_);
  if (!identity) co_return identity.error();
  // The others may stay with the server from before, where no mail comes any more, and locks exclude nobody.
  const bool moved = !identity_.words.empty() && identity_.words != identity->words;
  if (moved) leave_others(Error{Errc::store_unavailable, "the address leads to another server by now"});
  identity_ = std::move(*identity);
  co_return co_await learn_epoch();
}

std::vector<std::string> Server::words_of_begin(bool raise) const {
  // A server that has lost its data is the same store as before where a client still knows it: fences are pinned to it.
  const std::uint64_t known = store_id_;
  return {identity_.words, std::to_string(identity_.started), base::hex(known != 0 ? known : fresh_id_),
          raise ? "1" : "0", std::to_string(epoch_)};
}

Result<void> Server::take_epoch(const std::vector<Row>& rows) {
  if (rows.size() != 1 || rows[0].size() != 3) return unexpected();
  if (Result<void> accepted = accept_layout(rows[0][0]); !accepted) return accepted;
  std::uint64_t store = 0;
  if (base::parse_hex(rows[0][2], store)) store_id_ = store;
  const std::uint64_t before = std::exchange(epoch_, number(rows[0][1]));
  if (before != 0 && before != epoch_) doubt_sessions();
  return {};
}

awaitable<Result<void>> Server::learn_epoch() {
  const auto self = shared_from_this();
  for (int tries = 0;; ++tries) {
    Statement begin = Statement::call("begin", words_of_begin(false));
    Result<Answer> answer = co_await statements_->ask(std::move(begin));
    if (!answer) co_return answer.error();
    if (answer->refused == 0) co_return take_epoch(answer->rows);
    if (rolled_back(answer->refused) && tries < 10) continue;
    if (answer->refused != ER_SP_DOES_NOT_EXIST || tries > 10) co_return error_of(*answer);
    Result<void> installed = co_await install();
    if (!installed) co_return installed;
  }
}

// Several clients may do so at the same time.
awaitable<Result<void>> Server::install() {
  const auto self = shared_from_this();
  for (const std::string& text : schema_statements()) {
    Statement statement(text);
    Result<Answer> answer = co_await statements_->ask(std::move(statement));
    if (!answer) co_return answer.error();
    const bool made = answer->refused == 0 || answer->refused == ER_SP_ALREADY_EXISTS;
    if (made) continue;
    if (!is_denied(*answer)) co_return error_of(*answer);
    co_return Error{Errc::permission_denied,
                    "pawl's tables and procedures are missing in the database " + base::printable(config_.database) +
                        ", and this account may not make them; \"pawl schema --store URL --apply\" makes "
                        "them with one that may, beginning with " +
                        first_line_of(text)};
  }
  co_return Result<void>();
}

void Server::leave_others(const Error& why) {
  if (listener_) listener_->leave(why);
  for (const std::weak_ptr<Connection>& own : own_) {
    if (const SharedConnection connection = own.lock()) connection->leave(why);
  }
}

awaitable<Result<void>> Server::greet_listener() {
  can_be_woken_ = false;
  last_mail_ = "0";
  return greet_another(listener_);
}

// A connection beside that for statements.
awaitable<Result<void>> Server::greet_another(SharedConnection connection) {
  const auto self = shared_from_this();
  Result<void> ready = co_await set_up(connection);
  if (!ready) co_return ready;
  Result<Identity> identity = co_await look_at_server(connection);
  if (!identity) co_return identity.error();
  const bool same = identity->words == identity_.words && std::abs(identity->started - identity_.started) <= tolerance;
  if (same) co_return Result<void>();
  // The address has moved, and it is not known which of them was first: both connect again.
  const Error moved{Errc::store_unavailable, "the address leads to another server by now"};
  statements_->leave(moved);
  co_return moved;
}

std::shared_ptr<Connection> Server::make_own_connection(Duration longest,
                                                        std::function<void(const Error&)> gone_for_good) {
  const auto itself = std::make_shared<std::weak_ptr<Connection>>();
  const std::weak_ptr<Server> weak = weak_from_this();
  Connection::Plan plan = plan_for_all();
  plan.patience += longest;
  plan.lives_once = true;
  plan.down = std::move(gone_for_good);
  plan.greet = [weak, itself]() -> awaitable<Result<void>> {
    const auto self = weak.lock();
    const SharedConnection connection = itself->lock();
    if (!self || !connection) co_return gone();
    co_return co_await self->greet_another(connection);
  };
  const SharedConnection connection = std::make_shared<Connection>(runtime_, std::move(plan));
  *itself = connection;
  std::erase_if(own_, [](const std::weak_ptr<Connection>& own) { return own.expired(); });
  own_.push_back(connection);
  return connection;
}

Result<void> Server::check_row_locks() const {
  if (!identity_.many_writers) return {};
  return Error{Errc::unsupported,
               "row locks are each server's own, and this one belongs to a cluster in which several take writes"};
}

awaitable<Result<std::vector<Row>>> Server::run(std::string procedure, std::vector<std::string> values,
                                                Deadline deadline, Turn turn) {
  const auto self = shared_from_this();
  if (!statements_) statements_ = make_connection(Role::statements);
  for (;;) {
    Statement statement = Statement::call(procedure, values);
    Result<Answer> answer = co_await statements_->call(std::move(statement), deadline, turn);
    if (!answer) co_return answer.error();
    if (answer->refused == 0) co_return std::move(answer->rows);
    const bool again = rolled_back(answer->refused) && !deadline.passed(runtime_.now());
    if (again) continue;
    const Error why = error_of(*answer);
    if (must_reconnect(answer->refused)) statements_->leave(why);
    // It may have been interrupted behind its commit.
    if (answer->refused == ER_QUERY_INTERRUPTED) co_return Error{Errc::outcome_unknown, why.message};
    co_return why;
  }
}

awaitable<Result<std::uint64_t>> Server::ask_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  Result<void> up = co_await connect(deadline);
  if (!up) co_return up.error();
  Result<std::vector<Row>> rows = co_await run("begin", words_of_begin(raise), deadline);
  if (!rows) co_return rows.error();
  Result<void> taken = take_epoch(*rows);
  if (!taken) co_return taken.error();
  co_return epoch_;
}

awaitable<Result<std::string>> Server::apply_schema(Deadline deadline) {
  const auto self = shared_from_this();
  const SharedConnection connection = schema_ = make_connection(Role::schema);
  const Deadline soon = Deadline::in(runtime_.now(), config_.timeout);
  Result<void> up = co_await connection->ready(soon);
  Result<std::string> applied = std::string();
  if (up) {
    applied = co_await mysql::apply_schema(connection, deadline);
  } else {
    applied = up.error();
  }
  connection->stop();
  schema_.reset();
  co_return applied;
}

bool Server::is_another_epoch(SessionId session) {
  if (std::exchange(sessions_[session], epoch_) == epoch_) return false;
  base::spawn(runtime_, drop_unknown_claims(shared_from_this(), session));
  return true;
}

// A release, or the withdrawal of a waiter, that the server has lost: the claim would keep its place as long as the session
// lives. When that does not succeed, the next renewal begins again.
awaitable<void> Server::drop_unknown_claims([[maybe_unused]] std::shared_ptr<Server> self, SessionId session) {
  Result<void> dropped = co_await drop_unknown_claims(session);
  const auto known = sessions_.find(session);
  if (!dropped && known != sessions_.end()) known->second = 0;
}

awaitable<Result<void>> Server::drop_unknown_claims(SessionId session) {
  constexpr std::size_t page = 500;  // of pawl_session_claims
  std::string after;
  for (;;) {
    std::vector<std::string> whose{base::to_string(session), after};
    const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
    Result<std::vector<Row>> claims = co_await run("session_claims", std::move(whose), deadline);
    if (!claims) co_return claims.error();
    for (const Row& row : *claims) {
      ClaimId claim;
      if (!base::parse_hex(row.at(0), claim.high, claim.low) || notices_.watched(claim)) continue;
      std::vector<std::string> words{row.at(0), base::to_string(session), row.at(1), "1", "0"};
      const Deadline soon = Deadline::in(runtime_.now(), config_.timeout);
      Result<std::vector<Row>> left = co_await run("withdraw", std::move(words), soon);
      if (!left) co_return left.error();
    }
    if (claims->size() < page) co_return Result<void>();
    after = claims->back().at(0);
  }
}

Statement Server::next_mail() const {
  return {
      "SELECT seq, claim, what, epoch, counter, contended FROM pawl_mail WHERE mailbox = ? AND seq > ? ORDER BY seq "
      "LIMIT 1000",
      {mailbox_, last_mail_}};
}

// The mail is looked for first: what is committed behind that look interrupts the sleep.
Statement Server::nap() const {
  if (config_.polls) {
    return {"SELECT IF(EXISTS (SELECT 1 FROM pawl_mail WHERE mailbox = ? AND seq > ?), 0, SLEEP(0.020))",
            {mailbox_, last_mail_}};
  }
  // The connection before may not have ended at the server yet, and have the lock.
  if (!can_be_woken_) return {"SELECT GET_LOCK(CONCAT('pawl.', CONVERT(? USING ascii)), 0.020)", {mailbox_}};
  return {"SELECT IF(EXISTS (SELECT 1 FROM pawl_mail WHERE mailbox = ? AND seq > ?), 0, SLEEP(5))",
          {mailbox_, last_mail_}};
}

// Holds no Server while it waits, so that the last client ends it.
awaitable<void> Server::hear(std::weak_ptr<Server> weak, SharedConnection listener) {
  bool reads = true;
  for (;;) {
    Result<void> ready = co_await listener->ready(Deadline::never());
    auto self = weak.lock();
    if (!self) co_return;
    if (!ready) {
      base::Runtime& runtime = self->runtime_;
      self.reset();
      base::Wakeup pause(runtime);
      co_await pause.wait(base::after(runtime.now(), std::chrono::milliseconds(longest_nap_ms)));
      continue;
    }
    const bool asks_for_lock = !reads && !self->can_be_woken_ && !self->config_.polls;
    Statement statement = reads ? self->next_mail() : self->nap();
    self.reset();
    Result<Answer> answer = co_await listener->call(std::move(statement), Deadline::never(), Turn::in_order);
    self = weak.lock();
    if (!self) co_return;
    const bool answered = answer && answer->refused == 0;
    if (answer && must_reconnect(answer->refused) && answer->refused != ER_QUERY_INTERRUPTED) {
      listener->leave(error_of(*answer));
    }
    if (answered && reads) self->deliver(answer->rows);
    if (answered && asks_for_lock) self->can_be_woken_ = answer->rows.size() == 1 && answer->rows[0][0] == "1";
    reads = !reads || !answered;
  }
}

void Server::deliver(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    last_mail_ = row.at(0);
    ClaimId claim;
    if (base::parse_hex(row.at(1), claim.high, claim.low)) notices_.tell(claim, notice_of(row));
  }
}

// What was sent while nothing listened is still there, but its claims may be gone by now.
void Server::listen_anew() {
  notices_.tell_all_to_look();
  doubt_sessions();
}

// It may have been started again meanwhile, without its last writes.
void Server::up_again() {
  if (std::exchange(was_up_, true)) doubt_sessions();
}

void Server::doubt_sessions() {
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

}  // namespace pawl::store::mysql
