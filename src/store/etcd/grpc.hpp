#pragma once

#include "store/etcd/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::etcd {

/// gRPC calls on one HTTP/2 connection, the client's side, without I/O: what came from the server goes in by feed(), what
/// must go to it comes out by write_to(), and what happened by take_events(). Flow control, SETTINGS, acknowledgements and
/// the limit on calls at the same time are obeyed by themselves (nghttp2).
///
/// | state   | open()  | the server's frames | GOAWAY                                             | frames against the rules |
/// |---------|---------|---------------------|----------------------------------------------------|--------------------------|
/// | ready   | a call  | events              | leaving; calls it has not begun with end: "unprocessed" | broken              |
/// | leaving | refused | events              | the same                                           | broken                   |
/// | broken  | refused | nothing             | nothing                                            | -                        |
///
/// | call             | message                   | trailers, or headers only | reset by the server   | cancel()  |
/// |------------------|---------------------------|---------------------------|-----------------------|-----------|
/// | open             | event `message`           | event `finished`          | event `finished`      | forgotten |
/// | open, bad message| reset, event `finished`   | -                         | -                     | -         |
///
/// A bad message is one that is compressed (we offer no compression), or larger than we take.
/// A connection that breaks tells nothing of its calls: their owner knows which are open.
class Grpc {
 public:
  /// Positive.
  using CallId = std::int32_t;

  struct Settings {
    std::string authority = {};
    bool tls = false;
    std::size_t largest_message = std::size_t{64} << 20;
  };
  struct Metadata {
    std::string_view token = {};  ///< empty: none
    bool has_leader = false;      ///< the server ends the stream when it has no leader
  };
  struct Event {
    enum class What : std::uint8_t {
      settings,    ///< the server's first frame: it speaks HTTP/2
      message,     ///< of `call`: `bytes`
      finished,    ///< `call` is over: `status`
      pong,        ///< answer to ping()
      going_away,  ///< no new calls; `status.message` says why
    } what = What::settings;
    CallId call = 0;
    std::string bytes = {};
    Status status = {};
  };

  explicit Grpc(Settings settings);
  ~Grpc();
  Grpc(const Grpc&) = delete;
  Grpc& operator=(const Grpc&) = delete;

  bool ready() const;
  /// Begins a call. Nothing: not ready().
  std::optional<CallId> open(std::string_view path, const Metadata& metadata);
  /// One message. `last`: there will be no other.
  enum class Last : bool { no, yes };
  void send(CallId call, std::string_view message, Last last);
  /// Nobody waits for it any more.
  void cancel(CallId call);
  void ping();

  /// False: the server breaks the rules, and why() says which.
  [[nodiscard]] bool feed(std::string_view bytes);
  /// Appends what is to be sent.
  void write_to(std::string& out);
  bool wants_to_write() const;
  std::vector<Event> take_events();
  const std::string& why() const;

  std::size_t open_calls() const;
  /// How many bytes write_to() has given in all.
  std::uint64_t written() const;
  /// How many of them must have been sent for the server to know the whole of a call that ends with `Last::yes`.
  /// Nothing: they have not been written yet.
  std::optional<std::uint64_t> whole_at(CallId call) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::store::etcd
