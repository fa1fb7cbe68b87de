#include "store/etcd/channel.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pawl::store::etcd {

namespace {

// Servers count pings that come sooner than 5 s after each other; their clocks and the way there vary a little.
constexpr Duration ping_interval = std::chrono::milliseconds(5200);

std::string authority_of(const net::Address& address) {
  if (!address.path.empty()) return "localhost";
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Grpc::Settings settings_for(const net::Address& address) {
  Grpc::Settings settings;
  settings.authority = authority_of(address);
  settings.tls = address.tls != nullptr;
  return settings;
}

std::string_view text_of(const Channel::Token& token) { return token ? std::string_view(*token) : std::string_view(); }

}  // namespace

struct Channel::Unary : Channel::Hearer {
  explicit Unary(base::Runtime& runtime) : wakeup(runtime) {}
  void message(const std::string& bytes) override {
    reply.bytes = bytes;
    ++messages;
  }
  void finished(const Status& status) override {
    reply.status = status;
    if (status.ok() && messages != 1) {
      reply.status = Status{StatusCode::internal, "the server answered with " + std::to_string(messages) + " messages"};
    }
    done = true;
    wakeup.notify();
  }

  base::Wakeup wakeup;
  Reply reply;
  int messages = 0;
  bool done = false;
};

Channel::Channel(base::Runtime& runtime, Plan plan)
    : runtime_(runtime),
      plan_(std::move(plan)),
      stream_(runtime),
      grpc_(settings_for(plan_.address)),
      settled_(runtime),
      life_(runtime, [this] { check_life(); }) {}

Channel::~Channel() = default;

awaitable<Result<void>> Channel::open(Deadline deadline) {
  const auto self = shared_from_this();
  if (state_ != State::fresh) co_return Error{Errc::store_unavailable, "the connection is closed"};
  state_ = State::connecting;
  Result<void> connected = co_await stream_.connect(plan_.address, deadline);
  if (!connected) {
    close();
    co_return connected;
  }
  if (state_ == State::over) co_return why_;
  last_read_ = runtime_.now();
  base::spawn(runtime_, listen(self));
  flush();
  if (!greeted_ && state_ == State::connecting) co_await settled_.wait(deadline.at);
  if (state_ == State::over) co_return why_;
  if (!greeted_) {
    close();
    co_return Error{Errc::store_unavailable,
                    plan_.address.to_string() + ": the server accepts connections, and does not answer"};
  }
  state_ = State::up;
  co_return Result<void>();
}

awaitable<void> Channel::listen([[maybe_unused]] std::shared_ptr<Channel> self) {
  std::array<char, 16384> buffer;
  for (;;) {
    Result<std::size_t> size = co_await stream_.read(buffer);
    if (state_ == State::over) co_return;
    if (!size) {
      break_off(size.error());
      co_return;
    }
    const std::string_view bytes(buffer.data(), *size);
    const std::function<void()> work = [this, bytes] { take(bytes); };
    runtime_.wake_together(work);
    if (state_ == State::over) co_return;
  }
}

void Channel::take(std::string_view bytes) {
  last_read_ = runtime_.now();
  const bool lives = grpc_.feed(bytes);
  for (Grpc::Event& event : grpc_.take_events()) {
    handle(event);
    if (state_ == State::over) return;
  }
  if (!lives) {
    flush();  // why we go
    return break_off(Error{Errc::store_unavailable, plan_.address.to_string() + ": " + grpc_.why()});
  }
  if (grpc_.wants_to_write()) flush_soon();
  close_if_done();
}

void Channel::handle(Grpc::Event& event) {
  using What = Grpc::Event::What;
  if (event.what == What::settings) {
    greeted_ = true;
    return settled_.notify();
  }
  if (event.what == What::going_away) {
    const Error why{Errc::store_unavailable, plan_.address.to_string() + ": " + event.status.message};
    if (state_ == State::connecting) return break_off(why);
    if (state_ == State::up) state_ = State::retiring;
    return tell_down(why);
  }
  const auto it = calls_.find(event.call);
  if (it == calls_.end()) return;
  if (event.what == What::message) {
    const auto hearer = it->second;
    return hearer->message(event.bytes);
  }
  const auto hearer = std::move(it->second);
  calls_.erase(it);
  hearer->finished(event.status);
}

std::optional<Channel::CallId> Channel::begin_call(std::string_view path, const Grpc::Metadata& metadata,
                                                   std::shared_ptr<Hearer> hearer) {
  if (state_ != State::up) return std::nullopt;
  const std::optional<CallId> call = grpc_.open(path, metadata);
  if (!call) return call;
  calls_.emplace(*call, std::move(hearer));
  expect_life();
  flush_soon();
  return call;
}

awaitable<Channel::Reply> Channel::unary(std::string_view path, std::string body, Token token, Deadline deadline) {
  const auto self = shared_from_this();
  const auto unary = std::make_shared<Unary>(runtime_);
  const std::optional<CallId> call = begin_call(path, {.token = text_of(token)}, unary);
  if (!call) {
    unary->reply.status = Status{StatusCode::unavailable, "the connection is gone", true};
    co_return std::move(unary->reply);
  }
  grpc_.send(*call, body, Grpc::Last::yes);
  co_await unary->wakeup.wait(deadline.at);
  if (!unary->done) {
    const bool unsent = !sent_whole(*call);
    cancel(*call);
    unary->reply.status = Status{StatusCode::deadline_exceeded, "the server did not answer in time", unsent};
  }
  co_return std::move(unary->reply);
}

std::optional<Channel::CallId> Channel::begin(std::string_view path, const Token& token,
                                              std::shared_ptr<Hearer> hearer) {
  return begin_call(path, {.token = text_of(token), .has_leader = true}, std::move(hearer));
}

void Channel::send(CallId call, std::string_view message) {
  if (state_ == State::over) return;
  grpc_.send(call, message, Grpc::Last::no);
  flush_soon();
}

void Channel::cancel(CallId call) {
  if (calls_.erase(call) == 0 || state_ == State::over) return;
  grpc_.cancel(call);
  flush_soon();
  close_if_done();
}

// Not at once: whatever is asked in the same turn goes along.
void Channel::flush_soon() {
  if (std::exchange(will_flush_, true)) return;
  runtime_.resume_soon(base::Resumption([self = shared_from_this()](base::Woke) {
                         self->will_flush_ = false;
                         self->flush();
                       }),
                       base::Woke::notified);
}

void Channel::flush() {
  if (state_ == State::over || state_ == State::fresh || writing_) return;
  grpc_.write_to(out_);
  if (out_.empty()) return;
  const std::size_t size = stream_.write_now(out_);
  sent_ += size;
  out_.erase(0, size);
  if (out_.empty()) return;
  writing_ = true;
  base::spawn(runtime_, write_rest(shared_from_this()));
}

awaitable<void> Channel::write_rest([[maybe_unused]] std::shared_ptr<Channel> self) {
  while (state_ != State::over) {
    grpc_.write_to(out_);
    if (out_.empty()) break;
    sending_ = std::exchange(out_, {});
    sent_ += sending_.size();
    Result<void> wrote = co_await stream_.write(sending_);
    if (!wrote) break_off(wrote.error());
  }
  writing_ = false;
}

bool Channel::sent_whole(CallId call) const {
  const std::optional<std::uint64_t> whole = grpc_.whole_at(call);
  return whole && *whole <= sent_;
}

void Channel::break_off(const Error& why) {
  if (state_ == State::over) return;
  state_ = State::over;
  why_ = why;
  life_.cancel();
  stream_.close();
  settled_.notify();
  tell_down(why);
  for (const auto& [call, hearer] : std::exchange(calls_, {})) {
    hearer->finished(Status{StatusCode::unavailable, why.message, !sent_whole(call)});
  }
}

void Channel::tell_down(const Error& why) {
  if (std::exchange(told_down_, true) || !plan_.down) return;
  plan_.down(why);
}

void Channel::retire() {
  told_down_ = true;
  if (state_ == State::fresh || state_ == State::connecting) return close();
  if (state_ == State::up) state_ = State::retiring;
  close_if_done();
}

void Channel::close() {
  told_down_ = true;
  break_off(Error{Errc::store_unavailable, plan_.address.to_string() + ": the connection is closed"});
}

void Channel::close_if_done() {
  if (state_ == State::retiring && calls_.empty()) close();
}

void Channel::close_if_silent_since(base::Time when) {
  if (state_ == State::over || last_read_ >= when) return;
  break_off(Error{Errc::store_unavailable, plan_.address.to_string() + ": the server does not answer"});
}

void Channel::expect_life() {
  if (std::exchange(expects_life_, true)) return;
  life_.set(base::after(std::max(runtime_.now(), pinged_.value_or(base::Time())), ping_interval));
}

void Channel::check_life() {
  const auto self = shared_from_this();
  expects_life_ = false;
  if (calls_.empty() || state_ == State::over) return;
  expects_life_ = true;
  const base::Time now = runtime_.now();
  if (pinged_ && last_read_ < *pinged_) {
    const base::Time end = base::after(*pinged_, plan_.timeout);
    return now < end ? life_.set(end) : close_if_silent_since(*pinged_);
  }
  const base::Time due = base::after(std::max(last_read_, pinged_.value_or(base::Time())), ping_interval);
  if (now < due) return life_.set(due);
  pinged_ = now;
  grpc_.ping();
  flush_soon();
  life_.set(base::after(now, std::min(plan_.timeout, ping_interval)));
}

}  // namespace pawl::store::etcd
