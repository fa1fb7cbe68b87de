#include "tests/embedded_redis/server.hpp"

#include "base/ids.hpp"
#include "base/wakeup.hpp"
#include "store/redis/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

namespace pawl::test::embedded {

using base::awaitable;
using base::Time;
using store::net::InsideLine;

namespace {

Error broken() { return {Errc::store_unavailable, "the connection is gone"}; }

std::optional<std::size_t> number_in(std::string_view bytes, char kind, std::size_t& at) {
  const std::size_t end = bytes.find("\r\n", at);
  if (end == std::string_view::npos || bytes[at] != kind) return std::nullopt;
  std::size_t value = 0;
  std::from_chars(bytes.data() + at + 1, bytes.data() + end, value);
  at = end + 2;
  return value;
}

/// The first command in the bytes, which is taken out; nothing: it is not all there yet.
std::optional<Arguments> take_command(std::string& bytes) {
  std::size_t at = 0;
  const auto count = number_in(bytes, '*', at);
  if (!count) return std::nullopt;
  Arguments words;
  for (std::size_t i = 0; i < *count; ++i) {
    if (at >= bytes.size()) return std::nullopt;
    const auto size = number_in(bytes, '$', at);
    if (!size || at + *size + 2 > bytes.size()) return std::nullopt;
    words.push_back(bytes.substr(at, *size));
    at += *size + 2;
  }
  bytes.erase(0, at);
  return words;
}

}  // namespace

std::string encoded(const Answer& answer) {
  switch (answer.type) {
    case Answer::Type::nil: return "$-1\r\n";
    case Answer::Type::integer: return fmt::format(":{}\r\n", answer.number);
    case Answer::Type::text: return fmt::format("${}\r\n{}\r\n", answer.text.size(), answer.text);
    case Answer::Type::status: return fmt::format("+{}\r\n", answer.text);
    case Answer::Type::error: return fmt::format("-{}\r\n", answer.text);
    case Answer::Type::array: break;
  }
  std::string bytes = fmt::format("*{}\r\n", answer.items.size());
  for (const Answer& item : answer.items) bytes += encoded(item);
  return bytes;
}

/// Both ends of one connection. What the client has written arrives, whatever becomes of the client.
class Server::Line final : public InsideLine, public std::enable_shared_from_this<Line> {
 public:
  Line(std::shared_ptr<Server> server, base::Runtime& of_client)
      : client(of_client), server_(std::move(server)), arrived_(of_client) {}

  awaitable<Result<std::size_t>> read(std::span<char> into) override {
    const auto self = shared_from_this();
    while (inbox_.empty() && !over_) co_await arrived_.wait(Time::max());
    if (inbox_.empty()) co_return broken();
    const std::size_t size = std::min(into.size(), inbox_.size());
    inbox_.copy(into.data(), size);
    inbox_.erase(0, size);
    co_return size;
  }

  std::size_t write_now(std::string_view bytes) override {
    if (over_) return 0;
    there_ = server_->arrival(there_);
    base::spawn(server_->network_, deliver(shared_from_this(), std::string(bytes), there_));
    return bytes.size();
  }

  /// By the client. What it has written before arrives.
  void close() override { end(); }

  /// By the server or the network: nothing arrives any more.
  void break_off() {
    cut_ = true;
    end();
  }

  void answer(const Answer& answer) {
    back_ = server_->arrival(back_);
    base::spawn(server_->network_, send_back(shared_from_this(), encoded(answer), back_));
  }

  bool is_open() const { return !over_; }
  base::Runtime& client;
  std::set<std::string> channels = {};

 private:
  void end() {
    over_ = true;
    channels.clear();
    arrived_.notify();
  }

  static awaitable<void> deliver(LinePtr self, std::string bytes, Time when) {
    co_await base::sleep_until(self->server_->network_, when);
    if (self->cut_) co_return;
    self->received_ += bytes;
    while (const auto words = take_command(self->received_)) {
      const Answer answer = self->server_->execute(*words, self.get());
      if (!self->over_) self->answer(answer);
    }
  }

  static awaitable<void> send_back(LinePtr self, std::string bytes, Time when) {
    co_await base::sleep_until(self->server_->network_, when);
    if (self->over_) co_return;
    self->inbox_ += bytes;
    self->arrived_.notify();
  }

  const std::shared_ptr<Server> server_;
  base::Wakeup arrived_;
  std::string inbox_;     // for the client
  std::string received_;  // from the client
  Time there_ = Time::min();
  Time back_ = Time::min();
  bool over_ = false;
  bool cut_ = false;
};

namespace {

std::uint64_t unix_microseconds(const base::Runtime& network) {
  const auto part = network.now().time_since_epoch() % std::chrono::milliseconds(1);
  return network.unix_milliseconds() * 1000 + static_cast<std::uint64_t>(part / std::chrono::microseconds(1));
}

}  // namespace

Server::Server(base::SimWorld& world, base::SimProcess& network, Scripts& scripts, Latency latency)
    : world_(world),
      network_(network),
      scripts_(scripts),
      latency_(std::move(latency)),
      keyspace_([&network] { return unix_microseconds(network); }, [&world] { return world.random(); }),
      run_id_(base::hex(world.random(), world.random())) {
  keyspace_.publish = [this](const std::string& channel, const std::string& message) {
    return publish(channel, message);
  };
}

// Never before what was sent earlier.
Time Server::arrival(Time before) { return std::max(before, base::after(network_.now(), latency_())); }

awaitable<Result<std::shared_ptr<InsideLine>>> Server::connect(base::Runtime& client, base::Deadline) {
  std::erase_if(lines_, [](const auto& line) { return line.expired(); });
  const auto line = std::make_shared<Line>(shared_from_this(), client);
  lines_.push_back(line);
  co_return std::shared_ptr<InsideLine>(line);
}

void Server::break_connections(const base::Runtime* client) {
  for (const auto& weak : lines_) {
    const LinePtr line = weak.lock();
    if (line && (client == nullptr || &line->client == client)) line->break_off();
  }
}

void Server::restart(bool keeps_data) {
  break_connections(nullptr);
  known_.clear();
  run_id_ = base::hex(world_.random(), world_.random());
  if (!keeps_data) keyspace_.clear();
}

Answer Server::execute(const Arguments& words, Line* from) {
  ++requests_;
  published_.clear();
  Answer answer = run(words, from);
  if (after_command) after_command(words, published_);
  return answer;
}

Answer Server::run(const Arguments& words, Line* from) {
  const std::string& name = words[0];
  if (name == "EVAL" || name == "EVALSHA") return evaluate(words);
  if (name == "SUBSCRIBE" || name == "UNSUBSCRIBE") return subscribe(words, from);
  if (name == "INFO") return info();
  if (name == "PING") return {.type = Answer::Type::status, .text = "PONG"};
  return keyspace_.execute(words);
}

Answer Server::evaluate(const Arguments& words) {
  if (words.size() < 3) return Answer::error("ERR wrong number of arguments for 'eval' command");
  const bool by_hash = words[0] == "EVALSHA";
  const std::string hash = by_hash ? words[1] : store::redis::sha1_of(words[1]);
  const auto known = known_.find(hash);
  if (by_hash && known == known_.end()) return Answer::error("NOSCRIPT No matching script. Please use EVAL.");
  const std::string& text = known_.try_emplace(hash, words[1]).first->second;
  const auto keys_end = words.begin() + 3 + std::stoll(words[2]);
  return scripts_.run(hash, text, {words.begin() + 3, keys_end}, {keys_end, words.end()}, keyspace_);
}

Answer Server::subscribe(const Arguments& words, Line* from) {
  if (from == nullptr) return Answer::error("ERR only on a connection");
  const bool on = words[0] == "SUBSCRIBE";
  if (on) from->channels.insert(words[1]);
  if (!on) from->channels.erase(words[1]);
  return Answer::list({Answer::of(on ? "subscribe" : "unsubscribe"), Answer::of(words[1]),
                       Answer::of(static_cast<std::int64_t>(from->channels.size()))});
}

Answer Server::info() const {
  return Answer::of(
      fmt::format("# Server\r\nredis_version:7.0.15\r\nrun_id:{0}\r\nloading:0\r\nrole:master\r\nmaster_replid:{0}\r\n"
                  "cluster_enabled:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
                  run_id_));
}

std::int64_t Server::publish(const std::string& channel, const std::string& message) {
  published_.push_back(message);
  std::int64_t count = 0;
  for (const auto& weak : lines_) {
    const LinePtr line = weak.lock();
    if (!line || !line->is_open() || !line->channels.contains(channel)) continue;
    line->answer(Answer::list({Answer::of("message"), Answer::of(channel), Answer::of(message)}));
    ++count;
  }
  return count;
}

}  // namespace pawl::test::embedded
