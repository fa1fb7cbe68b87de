#pragma once

#include "tests/support/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace pawl::test {

/// Stands between one client and etcd, and passes on each DATA frame of a reply as `alter` has left it, which must be as long
/// as it was.
/// Limit: one connection at a time.
class AlteredReplies {
 public:
  /// `message`: what the frame carries, without the five bytes of gRPC before it.
  using Alter = std::function<void(std::string& message)>;

  AlteredReplies(std::uint16_t server, Alter alter)
      : server_(server), alter_(std::move(alter)), thread_([this] { run(); }) {}
  AlteredReplies(const AlteredReplies&) = delete;
  AlteredReplies& operator=(const AlteredReplies&) = delete;
  ~AlteredReplies() {
    over_ = true;
    bell_.ring();
    thread_.join();
  }

  std::uint16_t port() const { return listener_.port(); }

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
  /// All whole frames of HTTP/2.
  std::string take_frames(std::string& from) {
    constexpr std::size_t header = 9, grpc_header = 5;
    std::string out;
    while (from.size() >= header) {
      const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(from[i])); };
      const std::size_t size = header + (byte(0) << 16U) + (byte(1) << 8U) + byte(2);
      if (from.size() < size) break;
      const bool data = from[3] == 0;
      std::string front = from.substr(0, header), rest = from.substr(header, size - header);
      from.erase(0, size);
      if (data && rest.size() > grpc_header) {
        std::string message = rest.substr(grpc_header);
        alter_(message);
        if (message.size() == rest.size() - grpc_header) rest.replace(grpc_header, message.size(), message);
      }
      out += front + rest;
    }
    return out;
  }

  const std::uint16_t server_;
  const Alter alter_;
  const Socket listener_ = listen_on_tcp();
  const Bell bell_;
  std::atomic<bool> over_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace pawl::test
