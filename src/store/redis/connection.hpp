#pragma once

#include "base/wakeup.hpp"
#include "store/net/link.hpp"
#include "store/net/stream.hpp"
#include "store/redis/reply.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::store::redis {

using base::awaitable;
using base::Deadline;

/// One connection to a server, used by everybody at the same time: what is asked in one go is sent in one go, and answers
/// come in the order of the questions.
///
/// | state      | call()                    | bytes arrive | the connection breaks          | stop()   |
/// |------------|---------------------------|--------------|--------------------------------|----------|
/// | down       | waits for up              | -            | -                              | over     |
/// | greeting   | waits for up              | for greet()  | down, tries again later        | over     |
/// | up         | asks                      | next answer  | what was sent is unknown; down | over     |
/// | over       | store_unavailable         | -            | -                              | -        |
///
/// Errors: store_unavailable (not sent), outcome_unknown (sent, and not answered in time), permission_denied and
///         unsupported as greet() says.
/// Threads: on the executor only.
class Connection final : public net::Link {
 public:
  struct Question;
  using Asked = std::shared_ptr<Question>;

  struct Plan {
    /// Where the server is.
    std::function<awaitable<Result<net::Address>>(Deadline)> find;
    /// The first words on a new connection, by ask().
    std::function<awaitable<Result<void>>(Deadline)> greet;
    /// What comes without having been asked for, once it is up: all of it, on a connection that subscribes.
    std::function<void(const Reply&)> hear = {};
    /// It is up again.
    std::function<void()> up = {};
    /// It was up, and is gone.
    std::function<void(const Error&)> down = {};
    Duration timeout = {};  ///< for connecting, and for an answer
    bool once = false;      ///< ready() says what went wrong, rather than try again
  };

  Connection(base::Runtime& runtime, Plan plan);

  /// Asks, and waits for the answer. An error reply is an error.
  awaitable<Result<Reply>> call(Words words, Deadline deadline);
  /// The same for greet().
  awaitable<Result<Reply>> ask(Words words, Deadline deadline);
  /// The first half of ask(): what is told in one go meets the same server in that order. The answer may be ignored.
  Asked tell(const Words& words);
  /// The second half.
  awaitable<Result<Reply>> answer_to(Asked asked, Deadline deadline);
  /// Sends what has no answer: for a connection that subscribes. Nothing happens unless it is up.
  void send(const Words& words);
  /// Asks for a sign of life, for a connection that only listens. When none has come until the next call, it is broken off.
  void probe();

  /// Breaks off, if it is up, and finds the server again.
  void leave(const Error& why);
  /// The same, also while it is still connecting.
  void redial(const Error& why);

  void stop();

 private:
  /// From connect to the end of that connection.
  struct Life {
    bool over = false;
    Error why = {};
  };

  awaitable<Result<void>> open() override;
  void went_up() override;
  void went_down(const Error& why) override;
  awaitable<Result<void>> dial(std::shared_ptr<Life> life);
  awaitable<void> listen(std::shared_ptr<Connection> self, std::shared_ptr<Life> life);
  void take_replies(Life& life);
  void answer(Reply reply);
  void put(const Words& words);
  void flush_soon();
  void flush();
  awaitable<void> write_rest(std::shared_ptr<Connection> self, std::shared_ptr<Life> life);
  void break_off(Life& life, const Error& why);
  void break_off_if_silent();
  void fail_questions(const Error& why);
  std::shared_ptr<Connection> self() { return std::static_pointer_cast<Connection>(shared_from_this()); }

  base::Runtime& runtime_;
  const Plan plan_;
  net::Stream stream_;
  std::shared_ptr<Life> life_;
  ReplyReader reader_;
  std::deque<std::shared_ptr<Question>> questions_;
  std::string out_;            // to be written
  std::string sending_;        // being written
  std::uint64_t queued_ = 0;   // bytes ever put into out_
  std::uint64_t written_ = 0;  // ... of which so many may have reached the server
  base::Time last_reply_ = {};
  std::optional<base::Time> probed_;
  bool will_flush_ = false;
  bool writing_ = false;
};

}  // namespace pawl::store::redis
