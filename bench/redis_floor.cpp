// What a lock on Redis cannot do without: a blocking socket, the bytes of the commands, and nothing of the library around
// them. A participant of bench/redis_bench.py, with these schemes:
//
// replay:FILE  the two requests of an uncontended acquire and release, as pawl has sent them
// set          SET NX PX, and compare-and-delete in a script of two commands: a lock without queue and token
// list         a token in a list: LPUSH lets go, BLPOP waits. Redis' own way to hand something to one waiting client

#include "bench/participant.hpp"
#include "bench/redis_wire.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::bench {

namespace {

constexpr std::string_view replay = "replay:";

class Wire {
 public:
  explicit Wire(const std::string& url) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = address_of(url.substr(url.find("://") + 3));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { ::close(socket_); }

  /// One request, one answer. All answers here are so small that they come in one piece.
  std::string_view ask(std::string_view bytes) {
    if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) fail("send");
    const ssize_t size = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) fail("recv");
    const std::string_view answer(buffer_.data(), static_cast<std::size_t>(size));
    if (answer.starts_with('-') || !answer.ends_with("\r\n")) unexpected(answer);
    return answer;
  }
  /// The same, where it is known how the answer begins.
  void ask(std::string_view bytes, std::string_view begins) {
    const std::string_view answer = ask(bytes);
    if (!answer.starts_with(begins)) unexpected(answer);
  }

 private:
  [[noreturn]] static void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }
  [[noreturn]] static void unexpected(std::string_view answer) {
    throw std::runtime_error("unexpected: " + std::string(answer.substr(0, answer.find('\r'))));
  }

  const int socket_;
  std::array<char, 4096> buffer_{};
};

/// A request of pawl's, in which only the claim's id is ours.
struct Recorded {
  std::string bytes;
  std::string answer_begins;
  std::vector<std::size_t> places;  // of the id

  void put(std::string_view id) {
    for (const std::size_t place : places) bytes.replace(place, id.size(), id);
  }
};

class ReplayLock final : public Lock {
 public:
  /// `file`: the id, both requests, and how both answers begin; a line for each, all but the first in hex digits.
  ReplayLock(const std::string& url, const std::string& file) : wire_(url) {
    std::ifstream lines(file);
    std::string id;
    std::getline(lines, id);
    for (Recorded* each : {&acquire_, &release_}) each->bytes = from_hex(lines);
    for (Recorded* each : {&acquire_, &release_}) each->answer_begins = from_hex(lines);
    for (Recorded* each : {&acquire_, &release_}) {
      for (std::size_t at = each->bytes.find(id); at != std::string::npos; at = each->bytes.find(id, at + 1)) {
        each->places.push_back(at);
      }
      if (id.size() != make_id().size() || each->places.empty()) throw std::runtime_error("not a record: " + file);
    }
  }

  bool acquire(std::int64_t) override {
    const std::string id = make_id();
    acquire_.put(id);
    release_.put(id);
    wire_.ask(acquire_.bytes, acquire_.answer_begins);
    return true;
  }
  void release() override { wire_.ask(release_.bytes, release_.answer_begins); }

 private:
  static std::string from_hex(std::ifstream& lines) {
    std::string line;
    std::getline(lines, line);
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    return bytes;
  }

  Wire wire_;
  Recorded acquire_;
  Recorded release_;
};

class SetLock final : public Lock {
 public:
  SetLock(const std::string& url, const std::string& name) : wire_(url), key_("floor:set:" + name) {
    const std::string loaded(wire_.ask(encode({"SCRIPT", "LOAD",
                                               "if redis.call('GET', KEYS[1]) == ARGV[1] then "
                                               "return redis.call('DEL', KEYS[1]) end return 0"})));
    hash_ = loaded.substr(loaded.find('\n') + 1, 40);
  }

  bool acquire(std::int64_t) override {
    id_ = make_id();
    wire_.ask(encode({"SET", key_, id_, "NX", "PX", "30000"}), "+OK");
    return true;
  }
  void release() override { wire_.ask(encode({"EVALSHA", hash_, "1", key_, id_}), ":1"); }

 private:
  Wire wire_;
  const std::string key_;
  std::string hash_;
  std::string id_;
};

class ListLock final : public Lock {
 public:
  ListLock(const std::string& url, const std::string& name)
      : wire_(url), key_("floor:list:" + name), push_(encode({"LPUSH", key_, "token"})) {}

  bool acquire(std::int64_t until) override {
    const double left = static_cast<double>(until - now()) / 1e9;
    if (left <= 0) return false;
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.3f", left < 0.001 ? 0.001 : left);
    return wire_.ask(encode({"BLPOP", key_, seconds.data()})) != "*-1\r\n";
  }
  void release() override { wire_.ask(push_); }

 private:
  Wire wire_;
  const std::string key_;
  const std::string push_;
};

class Floor final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int) override {
    url_ = url;
    scheme_ = scheme;
  }
  void prepare(const std::string& name) override {
    if (scheme_ == "list") ListLock(url_, name).release();
  }
  std::unique_ptr<Lock> lock(const std::string& name, int) override {
    if (scheme_ == "list") return std::make_unique<ListLock>(url_, name);
    if (scheme_ == "set") return std::make_unique<SetLock>(url_, name);
    if (scheme_.starts_with(replay)) return std::make_unique<ReplayLock>(url_, scheme_.substr(replay.size()));
    throw std::runtime_error("no such scheme: " + scheme_);
  }
  std::unique_ptr<Lock> lock_of_thread(const std::string& name, int thread) override { return lock(name, thread); }

 private:
  std::string url_;
  std::string scheme_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  pawl::bench::Floor floor;
  return pawl::bench::serve(floor);
}
