#include "store/mysql/connection.hpp"

#include "base/lock_name.hpp"
#include "base/threads.hpp"
#include "store/net/backoff.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <mariadb/mysqld_error.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

namespace pawl::store::mysql {

using boost::asio::posix::descriptor_base;
using boost::system::error_code;

namespace {

constexpr Duration shortest_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::seconds(1);

/// Asking again would not help.
bool lasting(Errc code) {
  return code == Errc::permission_denied || code == Errc::unsupported || code == Errc::invalid_argument;
}

Error closed() { return {Errc::store_unavailable, "the connection is closed"}; }

/// What the blocking part of connecting needs and finds, on a thread of its own.
struct Dial {
  net::Address address;
  std::string database;
  std::optional<net::TlsFiles> tls;
  std::optional<base::Credentials> credentials;
  unsigned seconds = 1;
  MYSQL* handle = nullptr;
  Answer refusal = {};

  Dial() = default;
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  ~Dial() {
    if (handle != nullptr) mysql_close(handle);
  }

  void run();
  void set_options() const;
};

void Dial::set_options() const {
  const my_bool no = 0;
  const my_bool yes = 1;
  const unsigned no_files = 0;
  mysql_options(handle, MYSQL_OPT_NONBLOCK, nullptr);
  mysql_options(handle, MYSQL_OPT_RECONNECT, &no);
  mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &no_files);  // a server could read our files
  mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(handle, MYSQL_OPT_READ_TIMEOUT, &seconds);
  mysql_options(handle, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // The library would take "localhost" for the default socket, whatever the port.
  const unsigned protocol = address.path.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  mysql_options(handle, MYSQL_OPT_PROTOCOL, &protocol);
  if (!tls) return;
  const auto file = [this](mysql_option option, const std::string& path) {
    if (!path.empty()) mysql_options(handle, option, path.c_str());
  };
  file(MYSQL_OPT_SSL_CA, tls->ca);
  file(MYSQL_OPT_SSL_CERT, tls->cert);
  file(MYSQL_OPT_SSL_KEY, tls->key);
  mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);  // it does not by itself
}

void Dial::run() {
  handle = mysql_init(nullptr);
  if (handle == nullptr) throw std::bad_alloc();
  set_options();
  std::string user, password;
  if (credentials) {
    const base::Credentials::Exposed words = credentials->expose();
    user = words.user;
    password = words.password.value_or("");
  }
  const bool local = !address.path.empty();
  const MYSQL* connected = mysql_real_connect(handle, local ? "localhost" : address.host.c_str(), user.c_str(),
                                              password.c_str(), database.c_str(), local ? 0 : address.port,
                                              local ? address.path.c_str() : nullptr, CLIENT_MULTI_RESULTS);
  std::fill(password.begin(), password.end(), '\0');
  if (connected != nullptr) return;
  refusal.refused = mysql_errno(handle);
  refusal.why = mysql_error(handle);
}

/// The library's own beginning is not thread-safe.
void begin_library() {
  static const int begun = mysql_library_init(0, nullptr, nullptr);
  (void)begun;
}

/// By the server. What can be read from an idle connection may also be the rest of its last answer, which was read by now.
bool is_closed(int socket) {
  pollfd looked{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&looked, 1, 0) == 1;
}

unsigned whole_seconds(Duration duration) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

Answer refusal_of(MYSQL* handle) {
  Answer answer;
  answer.refused = mysql_errno(handle);
  answer.why = mysql_error(handle);
  return answer;
}

/// The client library's own numbers: the connection is gone, or cannot be used any more.
bool is_of_the_line(unsigned number) { return number >= CR_MIN_ERROR && number <= CR_MAX_ERROR; }

void take_rows(MYSQL_RES* result, Answer& answer) {
  const unsigned columns = mysql_num_fields(result);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* sizes = mysql_fetch_lengths(result);
    Row& texts = answer.rows.emplace_back();
    for (unsigned i = 0; i < columns; ++i) {
      texts.emplace_back(row[i] != nullptr ? std::string(row[i], sizes[i]) : std::string());
    }
  }
}

/// All is in memory by now.
bool take_rows(MYSQL_STMT* statement, Answer& answer) {
  const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> meta(mysql_stmt_result_metadata(statement), mysql_free_result);
  if (!meta) return false;
  const unsigned columns = mysql_num_fields(meta.get());
  std::vector<MYSQL_BIND> binds(columns);
  std::vector<std::string> buffers(columns);
  std::vector<unsigned long> sizes(columns);
  std::vector<my_bool> nulls(columns);
  for (unsigned i = 0; i < columns; ++i) {
    constexpr std::size_t longest_number = 32;
    buffers[i].resize(std::max<std::size_t>(mysql_fetch_field_direct(meta.get(), i)->max_length, longest_number));
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = buffers[i].data();
    binds[i].buffer_length = buffers[i].size();
    binds[i].length = &sizes[i];
    binds[i].is_null = &nulls[i];
  }
  if (mysql_stmt_bind_result(statement, binds.data()) != 0) return false;
  for (;;) {
    const int fetched = mysql_stmt_fetch(statement);
    if (fetched == MYSQL_NO_DATA) return true;
    if (fetched != 0) return false;
    Row& row = answer.rows.emplace_back();
    for (unsigned i = 0; i < columns; ++i) {
      row.emplace_back(nulls[i] != 0 ? std::string() : buffers[i].substr(0, sizes[i]));
    }
  }
}

}  // namespace

Statement Statement::call(const std::string& procedure, std::vector<std::string> values) {
  std::string text = "CALL pawl_" + procedure + "(";
  for (std::size_t i = 0; i < values.size(); ++i) text += i == 0 ? "?" : ",?";
  return {text + ")", std::move(values)};
}

struct Connection::Request {
  Request(base::Runtime& runtime, Statement what, Deadline until)
      : wakeup(runtime), statement(std::move(what)), deadline(until) {}
  base::Wakeup wakeup;
  Statement statement;
  Deadline deadline;
  bool started = false;
  std::optional<Result<Answer>> answer;
};

/// One life of the connection, from connect to its end.
struct Connection::Link {
  explicit Link(base::Runtime& runtime) : socket(runtime.executor()), nudge(runtime) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    const bool inherited = base::fork_generation() != generation;
    if (handle == nullptr || inherited) return;  // the session is not a child's to end
    mysql_close(handle);
    for (const auto& [text, statement] : statements) mysql_stmt_close(statement);
  }

  const std::uint64_t generation = base::fork_generation();
  MYSQL* handle = nullptr;
  std::map<std::string, MYSQL_STMT*> statements;
  // That of the handle, by another number: the library closes its own when the connection breaks, and then it may be the
  // number of another connection already.
  boost::asio::posix::stream_descriptor socket;
  base::Wakeup nudge;  // of run(): the socket, a request, the end
  int ready = 0;
  bool over = false;
  Error why;
};

/// Whoever needs the connection starts it anew, also after an exception.
struct Connection::Running {
  explicit Running(Connection& of) : connection(of) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { connection.running_ = false; }
  Connection& connection;
};

Connection::Connection(base::Runtime& runtime, Plan plan)
    : runtime_(runtime), plan_(std::move(plan)), changed_(runtime) {}

void Connection::start() {
  if (state_ != State::over && !std::exchange(running_, true)) base::spawn(runtime_, run(shared_from_this()));
}

awaitable<Result<void>> Connection::ready(Deadline deadline) {
  const auto self = shared_from_this();
  bool tried = false;
  while (state_ != State::up) {
    if (state_ == State::over) co_return closed();
    if (tried && lasting(last_error_.code)) co_return last_error_;
    if (deadline.passed(runtime_.now())) {
      if (last_error_.code != Errc{}) co_return last_error_;
      co_return Error{Errc::store_unavailable, "no connection in time"};
    }
    start();
    co_await changed_.wait(deadline.at);
    tried = true;
  }
  co_return Result<void>();
}

awaitable<void> Connection::run([[maybe_unused]] std::shared_ptr<Connection> self) {
  const Running running(*this);
  co_await base::step_aside(runtime_);  // the caller that has started it waits for its end first
  net::Backoff backoff(runtime_, shortest_pause, longest_pause);
  while (state_ != State::over) {
    const SharedLink link = link_ = std::make_shared<Link>(runtime_);
    Result<void> opened = co_await open(link);
    if (state_ == State::over) break;
    bool was_up_for_long = false;
    if (opened) {
      last_error_ = {};
      state_ = State::up;
      const base::Time since = runtime_.now();
      changed_.notify();
      if (plan_.up) plan_.up();
      co_await serve(link);
      if (state_ == State::over) break;
      was_up_for_long = runtime_.now() - since >= longest_pause;
      last_error_ = link->why;
      if (plan_.down) plan_.down(last_error_);
      if (plan_.lives_once) {
        stop();
        break;
      }
    } else {
      last_error_ = opened.error();
    }
    state_ = State::down;
    link_.reset();
    fail_requests(last_error_);
    changed_.notify();
    if (was_up_for_long) {
      backoff.reset();
      continue;
    }
    co_await changed_.wait(base::after(runtime_.now(), backoff.next()));
  }
  link_.reset();
}

awaitable<Result<void>> Connection::open(SharedLink link) {
  const auto self = shared_from_this();
  Result<std::optional<base::Credentials>> credentials = co_await plan_.credentials();
  if (!credentials) co_return credentials.error();
  begin_library();
  const auto dial = std::make_shared<Dial>();
  dial->address = plan_.address;
  dial->database = plan_.database;
  dial->tls = plan_.tls;
  dial->credentials = *credentials;
  dial->seconds = whole_seconds(plan_.timeout);
  const std::string lane = "mysql " + plan_.address.to_string();
  const std::function<void()> work = [dial] { dial->run(); };
  try {
    co_await runtime_.offload(lane, work);
  } catch (const std::system_error&) {
    co_return Error{Errc::store_unavailable, "no thread can be started to connect on"};
  }
  if (state_ == State::over) co_return closed();
  if (dial->refusal.refused != 0) {
    Error why = error_of(dial->refusal);
    why.message = plan_.address.to_string() + ": " + why.message;
    co_return why;
  }
  link->handle = std::exchange(dial->handle, nullptr);
  const int number = ::fcntl(mysql_get_socket(link->handle), F_DUPFD_CLOEXEC, 0);
  if (number < 0) co_return Error{Errc::store_unavailable, "the process has no file descriptor left"};
  ::fcntl(mysql_get_socket(link->handle), F_SETFD, FD_CLOEXEC);
  error_code refused;
  link->socket.assign(number, refused);
  if (refused) {
    ::close(number);
    co_return Error{Errc::store_unavailable, "the system has refused something: " + refused.message()};
  }
  if (link->over) co_return link->why;
  state_ = State::greeting;
  Result<void> greeted = co_await plan_.greet();
  if (!greeted && greeted.code() == Errc::outcome_unknown) {
    co_return Error{Errc::store_unavailable, greeted.error().message};
  }
  co_return greeted;
}

awaitable<void> Connection::serve(SharedLink link) {
  const auto self = shared_from_this();
  while (!link->over) {
    const std::shared_ptr<Request> request = next_request();
    if (!request) {
      co_await idle(link);
      continue;
    }
    request->started = true;
    Statement statement = request->statement;
    Result<Answer> answer = co_await perform(link, std::move(statement));
    request->answer.emplace(std::move(answer));
    request->wakeup.notify();
  }
}

// A server that closes an idle connection is noticed at once, and not by the next request.
awaitable<void> Connection::idle(SharedLink link) {
  link->ready = 0;
  link->socket.async_wait(descriptor_base::wait_read, [link](const error_code& error) {
    if (error == boost::asio::error::operation_aborted) return;
    link->ready |= MYSQL_WAIT_READ;
    link->nudge.notify();
  });
  co_await link->nudge.wait(base::Time::max());
  error_code ignored;
  link->socket.cancel(ignored);
  const bool over = link->ready != 0 && is_closed(link->socket.native_handle());
  if (over) break_off(*link, Error{Errc::store_unavailable, "the server has closed the connection"});
}

std::shared_ptr<Connection::Request> Connection::next_request() {
  auto& queue = urgent_.empty() ? requests_ : urgent_;
  if (queue.empty()) return nullptr;
  auto request = std::move(queue.front());
  queue.pop_front();
  return request;
}

awaitable<Result<Answer>> Connection::call(Statement statement, Deadline deadline, Turn turn) {
  const auto self = shared_from_this();
  if (state_ != State::up) {
    Result<void> up = co_await ready(deadline);
    if (!up) co_return up.error();
  }
  if (deadline.passed(runtime_.now())) co_return Error{Errc::store_unavailable, "there was no time left to ask"};
  auto& queue = turn == Turn::urgent ? urgent_ : requests_;
  const auto request = std::make_shared<Request>(runtime_, std::move(statement), deadline);
  queue.push_back(request);
  link_->nudge.notify();
  co_await request->wakeup.wait(deadline.at);
  if (request->answer) co_return std::move(*request->answer);
  if (request->started) co_return Error{Errc::outcome_unknown, "the server did not answer in time"};
  std::erase(queue, request);
  co_return Error{Errc::store_unavailable, "other statements took all the time"};
}

awaitable<Result<Answer>> Connection::ask(Statement statement) {
  const auto self = shared_from_this();
  const SharedLink link = link_;
  if (!link || link->over) co_return closed();
  co_return co_await perform(link, std::move(statement));
}

awaitable<Result<Answer>> Connection::perform(SharedLink link, Statement statement) {
  const auto self = shared_from_this();
  const base::Time until = base::after(runtime_.now(), plan_.patience);
  const bool plain = statement.how() == Statement::How::plain;
  Result<Answer> answer = Answer();
  if (plain) {
    answer = co_await query(link, statement.text(), until);
  } else {
    answer = co_await execute(link, std::move(statement), until);
  }
  const bool broken = answer && is_of_the_line(answer->refused);
  if (broken) break_off(*link, Error{Errc::store_unavailable, base::printable(answer->why, 300)});
  if (link->over) co_return Error{Errc::outcome_unknown, link->why.message};
  co_return answer;
}

awaitable<Result<Answer>> Connection::query(SharedLink link, std::string text, base::Time until) {
  int failed = 0;
  int status = mysql_real_query_start(&failed, link->handle, text.data(), text.size());
  while (status != 0) {
    const int ready = co_await wait(link, status, until);
    status = mysql_real_query_cont(&failed, link->handle, ready);
  }
  if (failed != 0) co_return refusal_of(link->handle);
  MYSQL_RES* stored = nullptr;
  status = mysql_store_result_start(&stored, link->handle);
  while (status != 0) {
    const int ready = co_await wait(link, status, until);
    status = mysql_store_result_cont(&stored, link->handle, ready);
  }
  Answer answer = refusal_of(link->handle);
  if (stored != nullptr) take_rows(stored, answer);
  mysql_free_result(stored);
  co_return answer;
}

awaitable<unsigned> Connection::prepare(SharedLink link, std::string text, base::Time until) {
  MYSQL_STMT* const statement = mysql_stmt_init(link->handle);
  if (statement == nullptr) throw std::bad_alloc();
  const my_bool yes = 1;
  mysql_stmt_attr_set(statement, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
  link->statements.emplace(text, statement);
  int failed = 0;
  int status = mysql_stmt_prepare_start(&failed, statement, text.data(), text.size());
  while (status != 0) {
    const int ready = co_await wait(link, status, until);
    status = mysql_stmt_prepare_cont(&failed, statement, ready);
  }
  co_return failed != 0 ? mysql_stmt_errno(statement) : 0;
}

awaitable<Result<Answer>> Connection::execute(SharedLink link, Statement statement, base::Time until) {
  Answer answer;
  if (!link->statements.contains(statement.text())) answer.refused = co_await prepare(link, statement.text(), until);
  MYSQL_STMT* const prepared = link->statements.at(statement.text());
  if (answer.refused != 0) {
    answer.why = mysql_stmt_error(prepared);
    link->statements.erase(statement.text());
    if (!is_of_the_line(answer.refused)) mysql_stmt_close(prepared);  // it was never made: nothing is sent
    co_return answer;
  }
  std::vector<MYSQL_BIND> binds(statement.values().size());
  std::vector<unsigned long> sizes(binds.size());
  for (std::size_t i = 0; i < binds.size(); ++i) {
    const std::string& value = statement.values()[i];
    sizes[i] = value.size();
    binds[i].buffer_type = MYSQL_TYPE_BLOB;
    binds[i].buffer = const_cast<char*>(value.data());
    binds[i].buffer_length = value.size();
    binds[i].length = &sizes[i];
  }
  mysql_stmt_bind_param(prepared, binds.data());
  int failed = 0;
  int status = mysql_stmt_execute_start(&failed, prepared);
  while (status != 0) {
    const int ready = co_await wait(link, status, until);
    status = mysql_stmt_execute_cont(&failed, prepared, ready);
  }
  // A procedure answers with its rows, and then with its end.
  while (failed == 0) {
    if (mysql_stmt_field_count(prepared) > 0) {
      status = mysql_stmt_store_result_start(&failed, prepared);
      while (status != 0) {
        const int ready = co_await wait(link, status, until);
        status = mysql_stmt_store_result_cont(&failed, prepared, ready);
      }
      if (failed == 0 && !take_rows(prepared, answer)) failed = 1;
      if (failed != 0) break;
      mysql_stmt_free_result(prepared);
    }
    if (mysql_stmt_more_results(prepared) == 0) break;
    status = mysql_stmt_next_result_start(&failed, prepared);
    while (status != 0) {
      const int ready = co_await wait(link, status, until);
      status = mysql_stmt_next_result_cont(&failed, prepared, ready);
    }
  }
  answer.refused = failed > 0 ? mysql_stmt_errno(prepared) : 0;
  answer.why = mysql_stmt_error(prepared);
  co_return answer;
}

// A statement under way cannot be cancelled: when it takes too long, or the connection is left, the socket is shut down, and
// the library notices that.
awaitable<int> Connection::wait(SharedLink link, int status, base::Time until) {
  link->ready = 0;
  const auto arm = [&link](descriptor_base::wait_type what, int flag) {
    link->socket.async_wait(what, [link, flag](const error_code& error) {
      if (error == boost::asio::error::operation_aborted) return;
      link->ready |= flag;
      link->nudge.notify();
    });
  };
  if ((status & MYSQL_WAIT_READ) != 0) arm(descriptor_base::wait_read, MYSQL_WAIT_READ);
  if ((status & MYSQL_WAIT_WRITE) != 0) arm(descriptor_base::wait_write, MYSQL_WAIT_WRITE);
  while (link->ready == 0 && !link->over && runtime_.now() < until) co_await link->nudge.wait(until);
  error_code ignored;
  link->socket.cancel(ignored);
  if (link->ready != 0 && !link->over) co_return link->ready;
  break_off(*link, Error{Errc::store_unavailable, "the server does not answer"});
  co_return status&(MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
}

void Connection::break_off(Link& link, const Error& why) {
  if (std::exchange(link.over, true)) return;
  link.why = why;
  if (link.socket.is_open()) ::shutdown(link.socket.native_handle(), SHUT_RDWR);
  link.nudge.notify();
}

void Connection::leave(const Error& why) {
  if (state_ == State::up) break_off(*link_, why);
}

std::uint64_t Connection::number() const { return link_ && link_->handle ? mysql_thread_id(link_->handle) : 0; }

// Those that were not sent.
void Connection::fail_requests(const Error& why) {
  for (auto* const queue : {&urgent_, &requests_}) {
    for (const auto& request : std::exchange(*queue, {})) {
      request->answer.emplace(Error{Errc::store_unavailable, why.message});
      request->wakeup.notify();
    }
  }
}

void Connection::stop() {
  if (state_ == State::over) return;
  state_ = State::over;
  const SharedLink link = link_;
  if (link) break_off(*link, closed());
  fail_requests(closed());
  changed_.notify();
}

}  // namespace pawl::store::mysql
