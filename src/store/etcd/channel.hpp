#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "base/timer.hpp"
#include "base/wakeup.hpp"
#include "store/etcd/grpc.hpp"
#include "store/net/stream.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pawl::store::etcd {

using base::awaitable;
using base::Deadline;

/// One connection to one member, used by all calls at the same time: what is asked in one turn is sent in one write. It
/// does not reconnect: the next connection is another Channel.
///
/// | state    | open()     | unary(), begin() | GOAWAY, retire()       | the connection breaks           | the last call ends |
/// |----------|------------|------------------|------------------------|---------------------------------|--------------------|
/// | new      | connecting | unavailable      | over                   | -                               | -                  |
/// | connecting| -         | unavailable      | over                   | over                            | -                  |
/// | up       | -          | a call           | retiring; tells down() | over; tells down(); calls end   | -                  |
/// | retiring | -          | unavailable      | -                      | over; calls end                 | over               |
/// | over     | -          | unavailable      | -                      | -                               | -                  |
///
/// A ping goes out after 5 s without a byte from the server, while there are calls; a server that leaves it unanswered for
/// `timeout` is taken for dead. (etcd ends a connection on which pings come more often than every 5 s.)
/// Threads: on the executor only.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  struct Plan {
    net::Address address = {};
    Duration timeout = {};
    /// No new calls: it is broken, or the server wants it to end. Once, and not after retire() or close().
    std::function<void(const Error& why)> down = {};
  };
  /// Hears what comes of a call. Nothing comes after finished().
  class Hearer {
   public:
    virtual ~Hearer() = default;
    virtual void message(const std::string& bytes) = 0;
    virtual void finished(const Status& status) = 0;
  };
  struct Reply {
    Status status = {};
    std::string bytes = {};
  };
  using CallId = Grpc::CallId;
  using Token = std::shared_ptr<const std::string>;

  Channel(base::Runtime& runtime, Plan plan);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Connects, and waits until the server has shown that it speaks HTTP/2.
  awaitable<Result<void>> open(Deadline deadline);
  /// One request, one answer. `path` must be a literal. A call that was not answered in time ends with deadline_exceeded.
  awaitable<Reply> unary(std::string_view path, std::string body, Token token, Deadline deadline);
  /// A call of any number of messages. Nothing: not up.
  std::optional<CallId> begin(std::string_view path, const Token& token, std::shared_ptr<Hearer> hearer);
  void send(CallId call, std::string_view message);
  /// The hearer hears nothing of it any more.
  void cancel(CallId call);

  /// Takes no new calls, and closes when those under way have ended.
  void retire();
  void close();
  /// Closes when no byte has come from the server for so long, and tells down().
  void close_if_silent_since(base::Time when);

  bool is_up() const { return state_ == State::up && grpc_.ready(); }
  const net::Address& address() const { return plan_.address; }
  base::Time last_read() const { return last_read_; }

 private:
  enum class State : std::uint8_t { fresh, connecting, up, retiring, over };
  struct Unary;

  awaitable<void> listen(std::shared_ptr<Channel> self);
  void take(std::string_view bytes);
  void handle(Grpc::Event& event);
  std::optional<CallId> begin_call(std::string_view path, const Grpc::Metadata& metadata,
                                   std::shared_ptr<Hearer> hearer);
  void flush_soon();
  void flush();
  awaitable<void> write_rest(std::shared_ptr<Channel> self);
  bool sent_whole(CallId call) const;
  void break_off(const Error& why);
  void tell_down(const Error& why);
  void close_if_done();
  void check_life();
  void expect_life();

  base::Runtime& runtime_;
  const Plan plan_;
  net::Stream stream_;
  Grpc grpc_;
  State state_ = State::fresh;
  Error why_;
  base::Wakeup settled_;  // for open()
  bool greeted_ = false;
  std::unordered_map<CallId, std::shared_ptr<Hearer>> calls_;
  std::string out_;         // to be written
  std::string sending_;     // being written
  std::uint64_t sent_ = 0;  // bytes that may have reached the server
  base::Time last_read_ = {};
  std::optional<base::Time> pinged_;
  base::Timer life_;
  bool expects_life_ = false;
  bool told_down_ = false;
  bool will_flush_ = false;
  bool writing_ = false;
};

}  // namespace pawl::store::etcd
