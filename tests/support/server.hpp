#pragma once

#include "tests/support/temporary_folder.hpp"

#include <pawl/options.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pawl::test {

/// A port on the loopback address that nobody listens on, and that is no other test's while this object lives.
class Port {
 public:
  Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();
  std::uint16_t number() const { return number_; }

 private:
  std::uint16_t number_ = 0;
  int lock_ = -1;
};

/// A real server under way, in a temporary folder. Killed at its end, also when a test fails, and with this process.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { kill(); }

  /// Starts it, its output in `folder`/NAME.log, and waits until it answers. Throws when it does not.
  void start(const std::vector<std::string>& command, const std::string& folder, const std::function<bool()>& answers);
  /// With -9, and waits until it is gone.
  void kill();
  /// As a service manager does, with SIGTERM; waits until it is gone. With -9 if it takes longer than a minute.
  void end();
  /// SIGSTOP, SIGCONT...
  void signal(int number) const;
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
};

/// Does whoever listens there say anything to `question`?
bool answers(std::uint16_t port, const std::string& question);

}  // namespace pawl::test
