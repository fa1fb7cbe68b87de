#pragma once

#include "base/gathering.hpp"
#include "base/runtime.hpp"
#include "base/time.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace pawl::store::net {

/// Keeps up a connection: opens it when it is first needed, and again whenever it has broken or could not be opened, after a
/// pause that grows (10 ms to 1 s, partly at random). What it connects to, and how, is up to open().
///
/// | state | open() is done  | open() fails            | broken()                         | close_link() |
/// |-------|-----------------|-------------------------|----------------------------------|--------------|
/// | down  | up; went_up()   | down; tries again later | -                                | over         |
/// | up    | -               | -                       | down; went_down(); opens it anew | over         |
/// | over  | -               | -                       | -                                | -            |
///
/// One that was up for as long as the longest pause is opened anew at once.
/// Threads: on the executor only.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  /// Opens it, and from then on again and again by itself.
  void start();
  /// Starts it, and waits until it is up. Errors: why it is not, at once if asking again would not help (permission_denied,
  /// unsupported, invalid_argument); after close_link(), store_unavailable.
  base::awaitable<Result<void>> ready(base::Deadline deadline);
  bool is_up() const { return state_ == State::up; }

 protected:
  enum class Patience : std::uint8_t {
    until_deadline,
    one_attempt,  ///< ready() tells what went wrong with the first one
  };
  explicit Link(base::Runtime& runtime, Patience patience = Patience::until_deadline);

  /// One attempt: finds a server, connects, greets. When it fails it has cleaned up.
  virtual base::awaitable<Result<void>> open() = 0;
  virtual void went_up() {}
  virtual void went_down(const Error& /*why*/) {}

  /// It is not up any more.
  void broken(const Error& why);
  void close_link();
  /// What open() is busy with, for errors: "db7:6379, with TLS".
  void trying(std::string peer) { peer_ = std::move(peer); }
  bool over() const { return state_ == State::over; }
  static Error closed();

 private:
  enum class State : std::uint8_t { down, up, over };
  struct Running;

  base::awaitable<void> run(std::shared_ptr<Link> self);

  base::Runtime& runtime_;
  const Patience patience_;
  State state_ = State::down;
  bool running_ = false;
  base::Gathering changed_;
  Error last_error_;
  std::string peer_;
};

}  // namespace pawl::store::net
