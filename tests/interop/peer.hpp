#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::test {

/// A program of somebody else's library that does what a line on its input says, and answers each with a line: "ok",
/// "ok VALUE", "no" or "no REASON". Durations are milliseconds. Killed at its end, and with this process.
///
/// | line                    | means                                                                                |
/// |-------------------------|--------------------------------------------------------------------------------------|
/// | acquire NAME LEASE WAIT | lease -1: as the library does by default; wait 0: try once, -1: for ever             |
/// | release NAME            |                                                                                      |
/// | extend NAME MORE        | redis-py and npm redlock only                                                        |
/// | owned NAME, locked NAME | by this program, by anybody: true or false                                           |
/// | holds NAME              | how often this program has it; Redisson only                                         |
/// | ttl NAME                | what is left of the lease; -1: it has none                                           |
/// | bump FILE               | reads the number in it, pauses, writes it plus one                                   |
/// | orphan NAME             | no keepalives for it any more; etcd only                                             |
/// | campaign NAME VALUE     | answers when elected; also: resign NAME, leader NAME, observe NAME; etcd only        |
/// | visit NAME FILE N       | so often: acquire, bump, release                                                     |
/// | quit                    | ends without letting go of anything                                                  |
class Peer {
 public:
  /// Starts it and waits until it says "ready". Its errors go to the file `log`. Throws when it does not start.
  Peer(const std::vector<std::string>& command, const std::string& log);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  std::string ask(const std::string& line) {
    tell(line);
    return answer();
  }
  /// The two halves of it: what takes long goes on meanwhile. Both throw when the peer is gone or hangs.
  void tell(const std::string& line) const;
  std::string answer();

 private:
  static constexpr std::chrono::seconds hang{60};

  [[noreturn]] static void become(char* const* argv, const char* log, int socket, pid_t parent);
  void end();

  std::string name_;
  int socket_ = -1;
  pid_t pid_ = -1;
  std::string heard_;
};

inline Peer::Peer(const std::vector<std::string>& command, const std::string& log) : name_(command.front()) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), log.c_str(), ends[1], parent);
  ::close(ends[1]);
  socket_ = ends[0];
  try {
    if (answer() != "ready") throw std::runtime_error(name_ + " does not begin with \"ready\"");
  } catch (const std::exception& reason) {
    end();
    throw std::runtime_error(std::string(reason.what()) + "; see " + log);
  }
}

inline Peer::~Peer() { end(); }

inline void Peer::become(char* const* argv, const char* log, int socket, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::dup2(::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  ::execvp(argv[0], argv);
  ::_exit(127);
}

inline void Peer::end() {
  ::close(std::exchange(socket_, -1));
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

inline void Peer::tell(const std::string& line) const {
  const std::string text = line + "\n";
  const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) throw std::runtime_error(name_ + " is gone");
}

inline std::string Peer::answer() {
  const auto end = std::chrono::steady_clock::now() + hang;
  while (heard_.find('\n') == std::string::npos) {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) throw std::runtime_error(name_ + " hangs");
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 1024> buffer{};
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (size <= 0) throw std::runtime_error(name_ + " has ended");
    heard_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const std::size_t length = heard_.find('\n');
  std::string line = heard_.substr(0, length);
  heard_.erase(0, length + 1);
  return line;
}

}  // namespace pawl::test
