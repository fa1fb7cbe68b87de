#include "store/mysql/server.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "base/log.hpp"
#include "store/credentials.hpp"
#include "store/mysql/answers.hpp"
#include "store/mysql/schema.hpp"

#include <mariadb/mysqld_error.h>

#include <algorithm>
#include <utility>

namespace pawl::store::mysql {

namespace {

Error gone() { return {Errc::store_unavailable, "the connection is closed"}; }

/// Takes out of the rows what pawl_exit() has put in front: mailboxes of listeners that it may not interrupt itself.
std::vector<std::string> take_sleepers(std::vector<Row>& rows) {
  std::vector<std::string> mailboxes;
  std::erase_if(rows, [&mailboxes](const Row& row) {
    const bool sleeps = row.size() == 2 && row[0] == "wake";
    if (sleeps) mailboxes.push_back(row[1]);
    return sleeps;
  });
  return mailboxes;
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
    plan.patience += config_.recheck;
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
  Result<std::optional<base::Credentials>> found = co_await find_credentials(runtime_, std::move(source));
  if (found) warn_of_plain_text(*found);
  co_return found;
}

// The login is safe with most plugins. Some send the password as it is, when the server asks for it.
void Server::warn_of_plain_text(const std::optional<base::Credentials>& credentials) {
  const bool has_password = credentials && !credentials->expose().password.value_or("").empty();
  if (!has_password || !config_.is_exposed() || std::exchange(told_of_plain_text_, true)) return;
  base::log(base::Level::warning, "mysql: the connection to " + config_.address().to_string() +
                                      " is not encrypted, and a server can make the client send its password on it; "
                                      "ca= in the URL turns TLS on");
}

awaitable<Result<void>> Server::connect(Deadline deadline) {
  if (!statements_) statements_ = make_connection(Role::statements);
  return statements_->ready(deadline);
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

void Server::leave_others(const Error& why) {
  if (listener_) listener_->leave(why);
  for (const std::weak_ptr<Connection>& own : own_) {
    if (const SharedConnection connection = own.lock()) connection->leave(why);
  }
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

Result<void> Server::check_local_locks() const {
  if (identity_.many_writers) {
    return Error{Errc::unsupported,
                 "row locks and user locks are each server's own, and this one belongs to a cluster in which several "
                 "take writes"};
  }
  if (identity_.behind_proxy) {
    return Error{Errc::unsupported,
                 "this scheme's lock belongs to a connection, and here a proxy shares connections between clients"};
  }
  return {};
}

awaitable<Result<std::vector<Row>>> Server::run(std::string procedure, std::vector<std::string> values,
                                                Deadline deadline, Turn turn) {
  const auto self = shared_from_this();
  if (!statements_) statements_ = make_connection(Role::statements);
  for (;;) {
    Statement statement = Statement::call(procedure, values);
    Result<Answer> answer = co_await statements_->call(std::move(statement), deadline, turn);
    if (!answer) co_return answer.error();
    if (answer->refused == 0) {
      std::vector<Row> rows = co_await wake_sleepers(std::move(answer->rows));
      co_return rows;
    }
    const bool again = rolled_back(answer->refused) && !deadline.passed(runtime_.now());
    if (again) continue;
    const Error why = error_of(*answer);
    if (must_reconnect(answer->refused)) statements_->leave(why);
    // It may have been interrupted behind its commit.
    if (answer->refused == ER_QUERY_INTERRUPTED) co_return Error{Errc::outcome_unknown, why.message};
    co_return why;
  }
}

// Procedures run with the rights of the account that made them, and an account may interrupt its own connections only: where
// this client uses another one, it sends the interruption itself.
awaitable<std::vector<Row>> Server::wake_sleepers(std::vector<Row> rows) {
  const auto self = shared_from_this();
  const std::vector<std::string> mailboxes = take_sleepers(rows);
  for (const std::string& mailbox : mailboxes) {
    Statement kill("KILL QUERY IS_USED_LOCK(CONCAT('pawl.', CONVERT(? USING ascii)))", {mailbox});
    const Deadline soon = Deadline::in(runtime_.now(), config_.timeout);
    (void)co_await statements_->call(std::move(kill), soon, Turn::urgent);  // it is only a hint
  }
  co_return rows;
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

// It may have been started again meanwhile, without its last writes.
void Server::up_again() {
  if (std::exchange(was_up_, true)) doubt_sessions();
}

void Server::doubt_sessions() {
  if (surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

}  // namespace pawl::store::mysql
