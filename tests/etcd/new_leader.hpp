#pragma once

#include "tests/support/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace pawl::test {

/// Stands between one client and etcd, and answers keepalives as a leader does that has just been elected and has not heard
/// of a lease yet: TTL 0. (All else is the server's.)
class NewLeader {
 public:
  explicit NewLeader(std::uint16_t server) : server_(server), thread_([this] { run(); }) {}
  NewLeader(const NewLeader&) = delete;
  NewLeader& operator=(const NewLeader&) = delete;
  ~NewLeader() {
    over_ = true;
    bell_.ring();
    thread_.join();
  }

  std::uint16_t port() const { return listener_.port(); }
  /// The next so many answers that tell this TTL tell 0. (Below 128, for it is one byte then.)
  void deny(char ttl, int times) {
    ttl_ = ttl;
    times_ = times;
  }

 private:
  void run() {
    while (!over_) {
      std::array<pollfd, 2> polled{{{listener_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (over_ || polled[0].revents == 0) continue;
      serve(listener_.accept());
    }
  }
  void serve(const Socket& client) {
    const Socket server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(server_);
    if (::connect(server.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    std::string frames;
    while (!over_) {
      std::array<pollfd, 3> polled{{{client.fd(), POLLIN, 0}, {server.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (over_) return;
      if (polled[0].revents != 0) {
        const std::string bytes = client.read();
        if (bytes.empty()) return;
        server.say(bytes);
      }
      if (polled[1].revents != 0) {
        const std::string bytes = server.read();
        if (bytes.empty()) return;
        frames += bytes;
        client.say(take_frames(frames));
      }
    }
  }
  /// All whole frames of HTTP/2. The TTL is what a message about a lease ends with.
  std::string take_frames(std::string& from) {
    constexpr std::size_t header = 9;
    constexpr char ttl_tag = 0x18;
    std::string out;
    while (from.size() >= header) {
      const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(from[i])); };
      const std::size_t size = header + (byte(0) << 16U) + (byte(1) << 8U) + byte(2);
      if (from.size() < size) break;
      std::string frame = from.substr(0, size);
      from.erase(0, size);
      const bool data = frame[3] == 0;
      if (data && size > header + 2 && frame[size - 2] == ttl_tag && frame[size - 1] == ttl_ && times_ > 0) {
        --times_;
        frame[size - 1] = 0;
      }
      out += frame;
    }
    return out;
  }

  const std::uint16_t server_;
  const Socket listener_ = listen_on_tcp();
  const Bell bell_;
  std::atomic<char> ttl_ = 0;
  std::atomic<int> times_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace pawl::test
