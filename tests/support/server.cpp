#include "tests/support/server.hpp"

#include "tests/support/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

bool is_free(std::uint16_t port) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  return ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

[[noreturn]] void become(char* const* argv, const char* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvp(argv[0], argv);
  ::_exit(127);
}

}  // namespace

// Below those that the kernel hands out by itself. A file with a lock on it says that a port is taken: it is free again
// when its process ends, however it ends.
Port::Port() {
  constexpr std::uint16_t first = 20'000, last = 32'000;
  const std::string folder = std::filesystem::temp_directory_path() / "pawl-test-ports";
  std::filesystem::create_directories(folder);
  std::mt19937 chance(static_cast<unsigned>(::getpid()));
  for (int tries = 0; tries < 1000; ++tries) {
    const auto number = static_cast<std::uint16_t>(first + chance() % (last - first));
    const std::string file = folder + "/" + std::to_string(number);
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_free(number)) {
      number_ = number;
      lock_ = fd;
      return;
    }
    ::close(fd);
  }
  throw std::runtime_error("there is no free port");
}

Port::~Port() { ::close(lock_); }

bool answers(std::uint16_t port, const std::string& question) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return false;
  char first = 0;
  return ::recv(socket.fd(), &first, 1, 0) == 1;
}

void ServerProcess::start(const std::vector<std::string>& command, const std::string& folder,
                          const std::function<bool()>& answers) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::string log = folder + "/server.log";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), log.c_str(), parent);
  for (Duration waited{}; waited < 60s; waited += 5ms) {
    if (answers()) return;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(5ms);
  }
  kill();
  throw std::runtime_error(command.front() + " did not start; see " + log);
}

// A process with many threads goes on for a while after SIGSTOP was sent.
void ServerProcess::signal(int number) const {
  if (pid_ <= 0) return;
  ::kill(pid_, number);
  if (number == SIGSTOP) ::waitpid(pid_, nullptr, WUNTRACED);
}

void ServerProcess::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  for (Duration waited{}; waited < 60s; waited += 5ms) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(5ms);
  }
  kill();
}

void ServerProcess::kill() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace pawl::test
