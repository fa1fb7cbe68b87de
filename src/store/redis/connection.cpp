#include "store/redis/connection.hpp"

#include "store/net/backoff.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace pawl::store::redis {

namespace {

constexpr Duration shortest_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::seconds(1);

/// Asking again would not help.
bool lasting(Errc code) {
  return code == Errc::permission_denied || code == Errc::unsupported || code == Errc::invalid_argument;
}

}  // namespace

struct Connection::Question {
  explicit Question(base::Runtime& runtime) : wakeup(runtime) {}
  base::Wakeup wakeup;
  std::uint64_t begins = 0;  // in the stream of bytes
  base::Time asked = {};
  std::optional<Reply> reply;
  std::optional<Error> error;
};

/// One life of the connection, from connect to its end.
struct Connection::Link {
  explicit Link(base::Runtime& runtime) : down(runtime) {}
  base::Wakeup down;
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
    : runtime_(runtime), plan_(std::move(plan)), stream_(runtime), changed_(runtime) {}

void Connection::start() {
  if (state_ != State::over && !std::exchange(running_, true)) base::spawn(runtime_, run(shared_from_this()));
}

awaitable<Result<void>> Connection::ready(Deadline deadline) {
  const auto self = shared_from_this();
  bool tried = false;
  while (state_ != State::up) {
    if (state_ == State::over) co_return Error{Errc::store_unavailable, "the connection is closed"};
    if (tried && (plan_.once || lasting(last_error_.code))) co_return last_error_;
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
  co_await base::step_aside(runtime_);  // whoever has started it sits down first, and hears how it ends
  net::Backoff backoff(runtime_, shortest_pause, longest_pause);
  while (state_ != State::over) {
    const auto link = link_ = std::make_shared<Link>(runtime_);
    Result<void> opened = co_await open(link);
    if (state_ == State::over) break;
    bool was_up_for_long = false;
    if (opened) {
      last_error_ = {};
      state_ = State::up;
      const base::Time since = runtime_.now();
      changed_.notify();
      if (plan_.up) plan_.up();
      if (!link->over) co_await link->down.wait(base::Time::max());
      if (state_ == State::over) break;
      was_up_for_long = runtime_.now() - since >= longest_pause;
      last_error_ = link->why;
      if (plan_.down) plan_.down(last_error_);
    } else {
      last_error_ = opened.error();
    }
    state_ = State::down;
    stream_.close();
    fail_questions(last_error_);
    changed_.notify();
    if (was_up_for_long) {
      backoff.reset();
      continue;
    }
    co_await changed_.wait(base::after(runtime_.now(), backoff.next()));
  }
}

awaitable<Result<void>> Connection::open(std::shared_ptr<Link> link) {
  const auto self = shared_from_this();
  const Deadline deadline = Deadline::in(runtime_.now(), plan_.timeout);
  Result<net::Address> address = co_await plan_.find(deadline);
  if (!address) co_return address.error();
  Result<void> connected = co_await stream_.connect(*address, deadline);
  if (!connected) co_return connected;
  if (link->over) co_return link->why;
  if (state_ == State::over) co_return Error{Errc::store_unavailable, "the connection is closed"};
  reader_ = ReplyReader();
  out_.clear();
  probed_.reset();
  state_ = State::greeting;
  base::spawn(runtime_, listen(self, link));
  Result<void> greeted = co_await plan_.greet(deadline);
  if (!greeted) {
    stream_.close();
    if (greeted.code() == Errc::outcome_unknown) co_return Error{Errc::store_unavailable, greeted.error().message};
  }
  co_return greeted;
}

awaitable<void> Connection::listen([[maybe_unused]] std::shared_ptr<Connection> self, std::shared_ptr<Link> link) {
  std::array<char, 16384> buffer;
  for (;;) {
    Result<std::size_t> size = co_await stream_.read(buffer);
    if (link->over || link_ != link) co_return;
    if (!size) {
      break_off(*link, size.error());
      co_return;
    }
    reader_.feed({buffer.data(), *size});
    const std::function<void()> take = [this, &link] { take_replies(*link); };
    runtime_.wake_together(take);
    if (link->over || link_ != link) co_return;
  }
}

void Connection::take_replies(Link& link) {
  while (!link.over) {
    Result<std::optional<Reply>> reply = reader_.next();
    if (!reply) return break_off(link, reply.error());
    if (!*reply) return;
    answer(std::move(**reply));
  }
}

void Connection::answer(Reply reply) {
  last_reply_ = runtime_.now();
  const bool pushed = plan_.hear && state_ == State::up;
  if (pushed) return plan_.hear(reply);
  if (questions_.empty()) return;
  const auto question = std::move(questions_.front());
  questions_.pop_front();
  // No master any more: it must be found again.
  const bool demoted =
      reply.type == Reply::Type::error && (reply.text.starts_with("READONLY") || reply.text.starts_with("MASTERDOWN"));
  if (reply.type == Reply::Type::error) {
    question->error = error_of(reply.text);
    if (reply.text.starts_with("NOSCRIPT")) question->reply = std::move(reply);
  } else {
    question->reply = std::move(reply);
  }
  question->wakeup.notify();
  if (demoted && state_ == State::up) break_off(*link_, *question->error);
}

awaitable<Result<Reply>> Connection::call(Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (state_ != State::up) {
    Result<void> up = co_await ready(deadline);
    if (!up) co_return up.error();
  }
  co_return co_await ask(std::move(words), deadline);
}

awaitable<Result<Reply>> Connection::ask(Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (deadline.passed(runtime_.now())) co_return Error{Errc::store_unavailable, "there was no time left to ask"};
  Asked asked = tell(words);
  co_return co_await answer_to(std::move(asked), deadline);
}

awaitable<Result<Reply>> Connection::answer_to(Asked asked, Deadline deadline) {
  const auto self = shared_from_this();
  if (!asked->error && !asked->reply) co_await asked->wakeup.wait(deadline.at);
  if (asked->reply) co_return std::move(*asked->reply);
  if (asked->error) co_return *asked->error;
  // Its answer is dropped when it comes.
  break_off_if_silent();
  co_return Error{Errc::outcome_unknown, "the server did not answer in time"};
}

// Somebody waits, and no whole answer has come for so long: the server hangs, or the line is dead.
void Connection::break_off_if_silent() {
  if (questions_.empty() || !link_) return;
  const base::Time since = std::max(questions_.front()->asked, last_reply_);
  const Duration nearly = plan_.timeout - plan_.timeout / 10;  // the deadline was set before the question was asked
  if (runtime_.now() - since >= nearly) break_off(*link_, Error{Errc::store_unavailable, "the server does not answer"});
}

void Connection::probe() {
  if (state_ != State::up) return;
  const base::Time now = runtime_.now();
  if (probed_ && *probed_ > last_reply_) {
    if (now - *probed_ < plan_.timeout) return;
    return break_off(*link_, Error{Errc::store_unavailable, "the server does not answer"});
  }
  probed_ = now;
  put({"PING"});
}

void Connection::send(const Words& words) {
  if (state_ == State::up) put(words);
}

Connection::Asked Connection::tell(const Words& words) {
  auto question = std::make_shared<Question>(runtime_);
  if (!link_ || link_->over) {
    question->error = Error{Errc::store_unavailable, "the connection is gone"};
    return question;
  }
  question->begins = queued_;
  question->asked = runtime_.now();
  questions_.push_back(question);
  put(words);
  return question;
}

void Connection::leave(const Error& why) {
  if (state_ == State::up) break_off(*link_, why);
}

void Connection::redial(const Error& why) {
  if (state_ != State::over && link_) break_off(*link_, why);
}

void Connection::put(const Words& words) {
  const std::size_t before = out_.size();
  words.write_to(out_);
  queued_ += out_.size() - before;
  flush_soon();
}

// Not at once: whatever is asked in the same breath goes along.
void Connection::flush_soon() {
  if (std::exchange(will_flush_, true)) return;
  runtime_.resume_soon(base::Resumption([self = shared_from_this()](base::Woke) {
                         self->will_flush_ = false;
                         self->flush();
                       }),
                       base::Woke::notified);
}

void Connection::flush() {
  if (writing_ || out_.empty()) return;
  const std::size_t size = stream_.write_now(out_);
  written_ += size;
  out_.erase(0, size);
  if (out_.empty()) return;
  writing_ = true;
  base::spawn(runtime_, write_rest(shared_from_this(), link_));
}

awaitable<void> Connection::write_rest([[maybe_unused]] std::shared_ptr<Connection> self, std::shared_ptr<Link> link) {
  while (!out_.empty() && link_ == link && !link->over) {
    sending_ = std::exchange(out_, {});
    written_ += sending_.size();
    Result<void> wrote = co_await stream_.write(sending_);
    if (!wrote && link_ == link) break_off(*link, wrote.error());
  }
  writing_ = false;
  if (link_ != link && !out_.empty()) flush();
}

void Connection::break_off(Link& link, const Error& why) {
  if (std::exchange(link.over, true)) return;
  link.why = why;
  stream_.close();
  fail_questions(why);
  link.down.notify();
}

void Connection::fail_questions(const Error& why) {
  for (const auto& question : std::exchange(questions_, {})) {
    const bool sent = question->begins < written_;
    question->error = Error{sent ? Errc::outcome_unknown : Errc::store_unavailable, why.message};
    question->wakeup.notify();
  }
  queued_ = written_;
  out_.clear();
}

void Connection::stop() {
  if (state_ == State::over) return;
  state_ = State::over;
  const auto link = link_;
  if (link) break_off(*link, Error{Errc::store_unavailable, "the connection is closed"});
  stream_.close();
  changed_.notify();
}

}  // namespace pawl::store::redis
