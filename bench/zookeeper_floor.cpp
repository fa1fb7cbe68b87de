// What a lock on ZooKeeper cannot do without: the C client, driven by poll(2) in the thread that uses it, and nothing of the
// library around it. A participant of bench/zookeeper_bench.py, with these schemes:
//
// pair    create an ephemeral node and delete it: a lock that nobody else wants
// queue   create a numbered node, watch the one before it; delete lets go, and the event alone takes. It holds only as
//         long as nobody leaves the queue, which a lock has to ask about
// asking  the same, and one request after the event, as a lock does that lets others leave

#include "bench/participant.hpp"

#include <zookeeper/zookeeper.h>

#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace pawl::bench {

namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr int session_ms = 3'600'000;  // nobody answers for it between two turns
constexpr const char* root = "/floor";

/// One session, for one thread at a time.
class Wire {
 public:
  explicit Wire(const std::string& url) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    const std::string server = url.substr(url.find("://") + 3);
    handle_ = zookeeper_init(server.c_str(), &Wire::on_event, session_ms, nullptr, this, 0);
    if (handle_ == nullptr) throw std::system_error(errno, std::generic_category(), "zookeeper_init");
    const std::int64_t patience = now() + 30'000 * millisecond;
    while (zoo_state(handle_) != ZOO_CONNECTED_STATE) {
      if (now() > patience) throw std::runtime_error("no connection to " + server);
      turn(patience);
    }
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { zookeeper_close(handle_); }

  /// The path that it got. A node that must not be there yet may be: then it is left alone.
  std::string create(const std::string& path, int mode, bool may_exist = false) {
    Answer answer;
    sent(zoo_acreate(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, &Wire::on_path, &answer));
    wait(answer);
    if (answer.code != ZOK && !(may_exist && answer.code == ZNODEEXISTS)) fail("create", answer.code);
    return std::move(answer.path);
  }
  void remove(const std::string& path) {
    Answer answer;
    sent(zoo_adelete(handle_, path.c_str(), -1, &Wire::on_void, &answer));
    wait(answer);
    if (answer.code != ZOK) fail("delete", answer.code);
  }
  /// False: there is no such node, and nothing is watched.
  bool watch(const std::string& path) {
    Answer answer;
    sent(zoo_awget(handle_, path.c_str(), &Wire::on_watch, this, &Wire::on_data, &answer));
    wait(answer);
    if (answer.code != ZOK && answer.code != ZNONODE) fail("get", answer.code);
    return answer.code == ZOK;
  }
  /// Whether this is the last node that a watch has seen go.
  bool gone(const std::string& path) const { return gone_ == path; }
  void look_at(const std::string& path) {
    Answer answer;
    sent(zoo_aget(handle_, path.c_str(), 0, &Wire::on_data, &answer));
    wait(answer);
    if (answer.code != ZOK) fail("get", answer.code);
  }

  /// Waits for the socket once, and lets the client read what is there.
  void turn(std::int64_t until) {
    int fd = -1;
    int interest = 0;
    timeval pause{};
    zookeeper_interest(handle_, &fd, &interest, &pause);
    const std::int64_t client = pause.tv_sec * 1000 + pause.tv_usec / 1000;
    const std::int64_t ours = std::max<std::int64_t>(until - now() + millisecond - 1, 0) / millisecond;
    pollfd poll{.fd = fd, .events = 0, .revents = 0};
    if ((interest & ZOOKEEPER_READ) != 0) poll.events |= POLLIN;
    if ((interest & ZOOKEEPER_WRITE) != 0) poll.events |= POLLOUT;
    ::poll(&poll, 1, static_cast<int>(std::min(client, ours)));
    int events = 0;
    if ((poll.revents & (POLLIN | POLLHUP | POLLERR)) != 0) events |= ZOOKEEPER_READ;
    if ((poll.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
    const int code = zookeeper_process(handle_, events);
    if (code != ZOK && code != ZNOTHING) fail("process", code);
  }

 private:
  struct Answer {
    bool done = false;
    int code = ZOK;
    std::string path = {};
  };

  [[noreturn]] static void fail(const char* what, int code) {
    throw std::runtime_error(std::string(what) + ": " + zerror(code));
  }
  static void sent(int code) {
    if (code != ZOK) fail("send", code);
  }
  void wait(const Answer& answer) {
    for (const std::int64_t patience = now() + 30'000 * millisecond; !answer.done;) {
      if (now() > patience) throw std::runtime_error("no answer");
      turn(patience);
    }
  }
  static void finish(int code, const void* context, const char* path = nullptr) {
    Answer& answer = *static_cast<Answer*>(const_cast<void*>(context));
    answer.code = code;
    if (path != nullptr) answer.path = path;
    answer.done = true;
  }
  static void on_void(int code, const void* answer) { finish(code, answer); }
  static void on_path(int code, const char* path, const void* answer) { finish(code, answer, path); }
  static void on_data(int code, const char*, int, const Stat*, const void* answer) { finish(code, answer); }
  static void on_event(zhandle_t*, int, int, const char*, void*) {}
  static void on_watch(zhandle_t*, int type, int, const char* path, void* wire) {
    if (type == ZOO_DELETED_EVENT) static_cast<Wire*>(wire)->gone_ = path;
  }

  zhandle_t* handle_ = nullptr;
  std::string gone_;
};

class PairLock final : public Lock {
 public:
  PairLock(Wire& wire, const std::string& name) : wire_(wire), path_(root + ("/pair-" + name)) {}

  bool acquire(std::int64_t) override {
    wire_.create(path_, ZOO_EPHEMERAL);
    return true;
  }
  void release() override { wire_.remove(path_); }

 private:
  Wire& wire_;
  const std::string path_;
};

class QueueLock final : public Lock {
 public:
  QueueLock(Wire& wire, const std::string& name, bool asks) : wire_(wire), folder_(folder_of(name)), asks_(asks) {}

  static std::string folder_of(const std::string& name) { return root + ("/queue-" + name); }

  bool acquire(std::int64_t until) override {
    if (now() >= until) return false;
    node_ = wire_.create(folder_ + "/n-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    const std::string last = before();
    const bool waits = wire_.watch(last);
    while (waits && !wire_.gone(last) && now() < until) wire_.turn(until);
    // All give up at the same time, so whoever is woken before that follows a holder.
    if (now() >= until) {
      wire_.remove(node_);
      return false;
    }
    if (waits && asks_) wire_.look_at(folder_);
    return true;
  }
  void release() override { wire_.remove(node_); }

 private:
  static constexpr std::size_t digits = 10;

  /// Numbers are dense: the node before ours is known by name.
  std::string before() const {
    const long number = std::stol(node_.substr(node_.size() - digits));
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%010ld", number - 1);
    return node_.substr(0, node_.size() - digits) + text.data();
  }

  Wire& wire_;
  const std::string folder_;
  const bool asks_;
  std::string node_;
};

class Floor final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int clients) override {
    if (scheme != "pair" && scheme != "queue" && scheme != "asking")
      throw std::runtime_error("no such scheme: " + scheme);
    wires_.clear();
    url_ = url;
    scheme_ = scheme;
    for (int i = 0; i < clients; ++i) wire(i);
    wire(0).create(root, ZOO_PERSISTENT, true);
  }
  void prepare(const std::string& name) override {
    if (scheme_ != "pair") wire(0).create(QueueLock::folder_of(name), ZOO_PERSISTENT, true);
  }
  std::unique_ptr<Lock> lock(const std::string& name, int client) override {
    if (scheme_ == "pair") return std::make_unique<PairLock>(wire(client), name);
    return std::make_unique<QueueLock>(wire(client), name, scheme_ == "asking");
  }
  std::unique_ptr<Lock> lock_of_thread(const std::string& name, int thread) override { return lock(name, thread); }

 private:
  Wire& wire(int client) {
    std::unique_ptr<Wire>& wire = wires_[client];
    if (!wire) wire = std::make_unique<Wire>(url_);
    return *wire;
  }

  std::string url_;
  std::string scheme_;
  std::map<int, std::unique_ptr<Wire>> wires_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  pawl::bench::Floor floor;
  return pawl::bench::serve(floor);
}
