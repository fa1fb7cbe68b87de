#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::test {

/// A listening socket, or the server's end of a connection: the test is the server. It blocks, for a minute at most.
class Socket {
 public:
  explicit Socket(int fd);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket() { close(); }

  int fd() const { return fd_; }
  std::uint16_t port() const;
  Socket accept() const;
  bool somebody_comes(std::chrono::milliseconds wait = {}) const;
  /// What one read gives. Nothing: the other side has gone.
  std::string read() const;
  void say(std::string_view bytes) const;
  void close();

 private:
  int fd_;
};

/// On the loopback address, at a port that the kernel chooses. `room`: for how many that nobody has accepted.
Socket listen_on_tcp(int room = 16);
Socket listen_on_tcp_v6();
Socket listen_on_path(const std::string& path);

sockaddr_in loopback(std::uint16_t port);
/// Says one thing to a port of this host, and hears what comes until the other side closes. Empty: nobody is there, or
/// it is silent for so long.
std::string ask(std::uint16_t port, std::string_view question, std::chrono::milliseconds patience);
/// What is written is sent at once, and nothing blocks.
void make_quick(int fd);

/// Wakes a poll() from any thread.
class Bell {
 public:
  Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell();

  int fd() const { return fd_; }
  void ring() const;
  /// It is silent until it is rung again.
  void hear() const;

 private:
  const int fd_;
};

}  // namespace pawl::test
