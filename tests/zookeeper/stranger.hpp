#pragma once

#include "tests/support/zookeeper_server.hpp"

#include <zookeeper/zookeeper.h>

#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::test {

/// A client that is not ours, with a session of its own. Nothing happens but inside its calls. Throws when it fails.
class Stranger {
 public:
  explicit Stranger(const ZooKeeperServer& server, const std::string& digest = {}) {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // silent
    handle_ = zookeeper_init(server.address().c_str(), nullptr, 30'000, nullptr, nullptr, 0);
    if (digest.empty()) return;
    zoo_add_auth(handle_, "digest", digest.data(), static_cast<int>(digest.size()), nullptr, nullptr);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { zookeeper_close(handle_); }

  /// Answers its path: an ephemeral one has the next number behind its name.
  std::string create(const std::string& path, int mode = ZOO_EPHEMERAL | ZOO_SEQUENCE) {
    Outcome outcome;
    const auto done = [](int code, const char* made, const void* out) {
      if (code == ZOK) of(out).path = made;
      of(out).code = code;
    };
    zoo_acreate(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, done, &outcome);
    finish(outcome);
    return outcome.path;
  }
  void remove(const std::string& path) {
    Outcome outcome;
    zoo_adelete(
        handle_, path.c_str(), -1, [](int code, const void* out) { of(out).code = code; }, &outcome);
    finish(outcome);
  }
  /// Their paths, in the order of their names. `watch`: the next one that comes or goes is told.
  std::vector<std::string> children(const std::string& path, bool watch = false) {
    Outcome outcome;
    const auto done = [](int code, const String_vector* names, const void* out) {
      for (int i = 0; code == ZOK && i < names->count; ++i) of(out).names.emplace_back(names->data[i]);
      of(out).code = code;
    };
    zoo_awget_children(handle_, path.c_str(), watch ? &Stranger::heard : nullptr, &told_, done, &outcome);
    finish(outcome);
    std::sort(outcome.names.begin(), outcome.names.end());
    for (std::string& name : outcome.names) name.insert(0, path + "/");
    return outcome.names;
  }
  /// Who may do what with it: scheme, name and rights of each.
  std::vector<std::string> access(const std::string& path) {
    Outcome outcome;
    const auto done = [](int code, ACL_vector* acl, Stat*, const void* out) {
      for (int i = 0; code == ZOK && i < acl->count; ++i) {
        const ACL& one = acl->data[i];
        of(out).names.push_back(std::string(one.id.scheme) + " " + one.id.id + " " + std::to_string(one.perms));
      }
      of(out).code = code;
    };
    zoo_aget_acl(handle_, path.c_str(), done, &outcome);
    finish(outcome);
    return outcome.names;
  }
  /// Is it there? Either way, the next change of it is told.
  bool watch(const std::string& path) {
    Outcome outcome;
    const auto done = [](int code, const Stat*, const void* out) { of(out).code = code; };
    zoo_awexists(handle_, path.c_str(), &Stranger::heard, &told_, done, &outcome);
    return finish(outcome, ZNONODE);
  }
  /// How often a watch has fired. What the server has sent before now has arrived.
  int told() {
    children("/");
    return told_;
  }

 private:
  struct Outcome {
    std::optional<int> code = {};
    std::string path = {};
    std::vector<std::string> names = {};
  };

  static void heard(zhandle_t*, int type, int, const char*, void* told) {
    if (type != ZOO_SESSION_EVENT) ++*static_cast<int*>(told);
  }

  static Outcome& of(const void* out) { return *static_cast<Outcome*>(const_cast<void*>(out)); }

  /// False: it was answered with what may be as well.
  bool finish(const Outcome& outcome, int may_be = ZOK) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!outcome.code && std::chrono::steady_clock::now() < end) step();
    if (outcome.code == ZOK) return true;
    if (outcome.code == may_be) return false;
    throw std::runtime_error("ZooKeeper answers " + std::to_string(outcome.code.value_or(ZOPERATIONTIMEOUT)));
  }
  void step() {
    int fd = -1, interest = 0;
    timeval wait{};
    if (zookeeper_interest(handle_, &fd, &interest, &wait) != ZOK || fd < 0) {
      ::poll(nullptr, 0, 5);
      return;
    }
    pollfd polled{fd, static_cast<short>((interest & ZOOKEEPER_WRITE) != 0 ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&polled, 1, 50);
    int events = 0;
    if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0) events |= ZOOKEEPER_READ;
    if ((polled.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
    zookeeper_process(handle_, events);
  }

  zhandle_t* handle_ = nullptr;
  int told_ = 0;
};

}  // namespace pawl::test
