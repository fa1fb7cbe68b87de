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

/// A frame of HTTP/2.
class Frame {
 public:
  explicit Frame(std::string bytes) : bytes_(std::move(bytes)) {}

  const std::string& bytes() const { return bytes_; }
  bool is_data() const { return !bytes_.empty() && bytes_[3] == 0; }
  /// Of gRPC. Empty: it carries none, or not a whole one.
  std::string message() const { return is_data() && bytes_.size() > front ? bytes_.substr(front) : ""; }
  void set_message(const std::string& message) {
    bytes_ = bytes_.substr(0, header) + std::string(1, '\0') + number(message.size(), 4) + message;
    bytes_.replace(0, 3, number(message.size() + 5, 3));
  }
  /// Instead of it, the end of its call with that status.
  void become_status(const std::string& code, const std::string& text) {
    const auto literal = [](const std::string& value) { return static_cast<char>(value.size()) + value; };
    const auto field = [&](const std::string& name, const std::string& value) {
      return std::string(1, '\0') + literal(name) + literal(value);  // of HPACK: literal, and not kept
    };
    const std::string block = field("grpc-status", code) + field("grpc-message", text);
    constexpr char headers = 1, ends_stream_and_headers = 5;
    bytes_ = number(block.size(), 3) + headers + ends_stream_and_headers + bytes_.substr(5, 4) + block;
  }
  void drop() { bytes_.clear(); }

 private:
  static constexpr std::size_t header = 9, front = header + 5;
  static std::string number(std::size_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 255U);
    return text;
  }

  std::string bytes_;
};

/// Stands between one client and etcd, and passes on each frame of a reply as `alter` has left it.
/// Limit: one connection at a time.
class AlteredReplies {
 public:
  using Alter = std::function<void(Frame& frame)>;

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
  std::string take_frames(std::string& from) {
    constexpr std::size_t header = 9;
    std::string out;
    while (from.size() >= header) {
      const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(from[i])); };
      const std::size_t size = header + (byte(0) << 16U) + (byte(1) << 8U) + byte(2);
      if (from.size() < size) break;
      Frame frame(from.substr(0, size));
      from.erase(0, size);
      alter_(frame);
      out += frame.bytes();
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
