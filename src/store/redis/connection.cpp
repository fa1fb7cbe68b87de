#include "store/redis/connection.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace pawl::store::redis {

struct Connection::Question {
  explicit Question(base::Runtime& runtime) : wakeup(runtime) {}
  base::Wakeup wakeup;
  std::uint64_t begins = 0;  // in the stream of bytes
  base::Time asked = {};
  std::optional<Reply> reply;
  std::optional<Error> error;
};

Connection::Connection(base::Runtime& runtime, Plan plan)
    : Link(runtime, plan.once ? Patience::one_attempt : Patience::until_deadline),
      runtime_(runtime),
      plan_(std::move(plan)),
      stream_(runtime) {}

void Connection::went_up() {
  if (plan_.up) plan_.up();
}

void Connection::went_down(const Error& why) {
  if (plan_.down) plan_.down(why);
}

awaitable<Result<void>> Connection::open() {
  const auto life = life_ = std::make_shared<Life>();
  Result<void> opened = co_await dial(life);
  if (opened && life->over) opened = life->why;
  if (!opened) {
    break_off(*life, opened.error());
    stream_.close();  // it may have been broken off before it was connected
  }
  co_return opened;
}

awaitable<Result<void>> Connection::dial(std::shared_ptr<Life> life) {
  const Deadline deadline = Deadline::in(runtime_.now(), plan_.timeout);
  Result<net::Address> address = co_await plan_.find(deadline);
  if (!address) co_return address.error();
  trying(address->to_string() + (address->tls ? " with TLS" : ""));
  Result<void> connected = co_await stream_.connect(*address, deadline);
  if (!connected) co_return connected;
  if (life->over) co_return life->why;
  if (over()) co_return closed();
  reader_ = ReplyReader();
  out_.clear();
  probed_.reset();
  base::spawn(runtime_, listen(self(), life));
  Result<void> greeted = co_await plan_.greet(deadline);
  if (greeted.code() == Errc::outcome_unknown) co_return Error{Errc::store_unavailable, greeted.error().message};
  co_return greeted;
}

awaitable<void> Connection::listen([[maybe_unused]] std::shared_ptr<Connection> self, std::shared_ptr<Life> life) {
  std::array<char, 16384> buffer;
  for (;;) {
    Result<std::size_t> size = co_await stream_.read(buffer);
    if (life->over || life_ != life) co_return;
    if (!size) {
      break_off(*life, size.error());
      co_return;
    }
    reader_.feed({buffer.data(), *size});
    const std::function<void()> take = [this, &life] { take_replies(*life); };
    runtime_.wake_together(take);
    if (life->over || life_ != life) co_return;
  }
}

void Connection::take_replies(Life& life) {
  while (!life.over) {
    Result<std::optional<Reply>> reply = reader_.next();
    if (!reply) return break_off(life, reply.error());
    if (!*reply) return;
    answer(std::move(**reply));
  }
}

void Connection::answer(Reply reply) {
  last_reply_ = runtime_.now();
  const bool pushed = plan_.hear && is_up();
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
  if (demoted && is_up()) break_off(*life_, *question->error);
}

awaitable<Result<Reply>> Connection::call(Words words, Deadline deadline) {
  const auto self = shared_from_this();
  if (!is_up()) {
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
  if (questions_.empty() || !life_) return;
  const base::Time since = std::max(questions_.front()->asked, last_reply_);
  const Duration nearly = plan_.timeout - plan_.timeout / 10;  // the deadline was set before the question was asked
  if (runtime_.now() - since >= nearly) break_off(*life_, Error{Errc::store_unavailable, "the server does not answer"});
}

void Connection::probe() {
  if (!is_up()) return;
  const base::Time now = runtime_.now();
  if (probed_ && *probed_ > last_reply_) {
    if (now - *probed_ < plan_.timeout) return;
    return break_off(*life_, Error{Errc::store_unavailable, "the server does not answer"});
  }
  probed_ = now;
  put({"PING"});
}

void Connection::send(const Words& words) {
  if (is_up()) put(words);
}

Connection::Asked Connection::tell(const Words& words) {
  auto question = std::make_shared<Question>(runtime_);
  if (!life_ || life_->over) {
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
  if (is_up()) break_off(*life_, why);
}

void Connection::redial(const Error& why) {
  if (!over() && life_) break_off(*life_, why);
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
  runtime_.resume_soon(base::Resumption([self = self()](base::Woke) {
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
  base::spawn(runtime_, write_rest(self(), life_));
}

awaitable<void> Connection::write_rest([[maybe_unused]] std::shared_ptr<Connection> self, std::shared_ptr<Life> life) {
  while (!out_.empty() && life_ == life && !life->over) {
    sending_ = std::exchange(out_, {});
    written_ += sending_.size();
    Result<void> wrote = co_await stream_.write(sending_);
    if (!wrote && life_ == life) break_off(*life, wrote.error());
  }
  writing_ = false;
  if (life_ != life && !out_.empty()) flush();
}

void Connection::break_off(Life& life, const Error& why) {
  if (std::exchange(life.over, true)) return;
  life.why = why;
  stream_.close();
  fail_questions(why);
  broken(why);
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
  if (over()) return;
  close_link();
  if (life_) break_off(*life_, closed());
  stream_.close();
}

}  // namespace pawl::store::redis
