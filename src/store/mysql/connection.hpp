#pragma once

#include "base/gathering.hpp"
#include "base/runtime.hpp"
#include "base/url.hpp"
#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

using base::awaitable;
using base::Deadline;

/// One row of a result. NULL is an empty text.
using Row = std::vector<std::string>;

/// What the server has answered: rows, or its refusal.
struct Answer {
  std::vector<Row> rows = {};
  unsigned refused = 0;  ///< the server's error number; 0: none
  std::string why = {};
};

/// What is sent. Values are bound to its question marks, never pasted into it.
class Statement {
 public:
  enum class How : std::uint8_t { prepared, plain };

  /// Prepared once per connection.
  Statement(std::string text, std::vector<std::string> values) : text_(std::move(text)), values_(std::move(values)) {}
  /// Sent as it is: for what cannot be prepared.
  explicit Statement(std::string text) : text_(std::move(text)), how_(How::plain) {}
  /// CALL pawl_NAME(?, ...).
  static Statement call(const std::string& procedure, std::vector<std::string> values);

  const std::string& text() const { return text_; }
  const std::vector<std::string>& values() const { return values_; }
  How how() const { return how_; }

 private:
  std::string text_;
  std::vector<std::string> values_ = {};
  How how_ = How::prepared;
};

/// Which statement goes first, where several wait: a connection runs one at a time.
enum class Turn : std::uint8_t { in_order, urgent };

/// One connection to a server, by MariaDB Connector/C's non-blocking interface. It connects when it is first needed, on
/// another thread because that part of the library blocks, and again by itself when it breaks.
///
/// | state      | call()              | the connection breaks                         | stop()   |
/// |------------|---------------------|-----------------------------------------------|----------|
/// | down       | waits for up        | -                                             | over     |
/// | greeting   | waits for up        | down, tries again later                       | over     |
/// | up         | waits for its turn  | what was sent is unknown, the rest not; down  | over     |
/// | over       | store_unavailable   | -                                             | -        |
///
/// Errors: store_unavailable (not sent), outcome_unknown (sent, and not answered in time), permission_denied and
///         unsupported as the server and greet() say.
/// Threads: on the executor only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Plan {
    net::Address address = {};
    std::string database = {};
    std::optional<net::TlsFiles> tls = {};  ///< none: in plain text
    std::function<awaitable<Result<std::optional<base::Credentials>>>()> credentials = {};
    /// The first words on a new connection, by ask().
    std::function<awaitable<Result<void>>()> greet = {};
    std::function<void()> up = {};                ///< it is up again
    std::function<void(const Error&)> down = {};  ///< it was up, and is gone
    Duration timeout = {};                        ///< for connecting
    Duration patience = {};                       ///< for an answer
    bool lives_once = false;                      ///< once it was up, it is not connected again
  };

  Connection(base::Runtime& runtime, Plan plan);

  /// Waits until it is up.
  awaitable<Result<void>> ready(Deadline deadline);
  /// Waits for its turn, and for the answer.
  awaitable<Result<Answer>> call(Statement statement, Deadline deadline, Turn turn);
  /// The same for greet(), at once.
  awaitable<Result<Answer>> ask(Statement statement);

  /// Breaks off, if it is up, and connects again.
  void leave(const Error& why);
  bool is_up() const { return state_ == State::up; }
  /// As the server has called it when it was made; 0: it is down.
  std::uint64_t number() const;
  void stop();

 private:
  enum class State : std::uint8_t { down, greeting, up, over };
  struct Link;
  struct Request;
  struct Running;
  using SharedLink = std::shared_ptr<Link>;

  void start();
  awaitable<void> run(std::shared_ptr<Connection> self);
  awaitable<Result<void>> open(SharedLink link);
  awaitable<void> serve(SharedLink link);
  awaitable<void> idle(SharedLink link);
  awaitable<Result<Answer>> perform(SharedLink link, Statement statement);
  awaitable<Result<Answer>> query(SharedLink link, std::string text, base::Time until);
  awaitable<Result<Answer>> execute(SharedLink link, Statement statement, base::Time until);
  awaitable<unsigned> prepare(SharedLink link, std::string text, base::Time until);
  awaitable<int> wait(SharedLink link, int status, base::Time until);
  std::shared_ptr<Request> next_request();
  void break_off(Link& link, const Error& why);
  void fail_requests(const Error& why);

  base::Runtime& runtime_;
  const Plan plan_;
  State state_ = State::down;
  bool running_ = false;
  base::Gathering changed_;
  Error last_error_;
  SharedLink link_;
  std::deque<std::shared_ptr<Request>> urgent_;
  std::deque<std::shared_ptr<Request>> requests_;
};

/// What a refusal means to the caller. Nothing was done: each procedure rolls back.
Error error_of(const Answer& refusal);
/// For another transaction's sake, or because it has waited for too long: it may be tried again.
bool rolled_back(unsigned refused);
/// The server is another one than before, or is not what it was.
bool must_reconnect(unsigned refused);

}  // namespace pawl::store::mysql
