#include "tests/process/file_child.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace pawl::process {

namespace {

constexpr int commands = 3;
constexpr int answers = 4;

[[noreturn]] void become(const Child::Options& options, int in, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int safe_in = ::fcntl(in, F_DUPFD, answers + 1);  // above those that are replaced below
  const int safe_out = ::fcntl(out, F_DUPFD, answers + 1);
  ::dup2(safe_in, commands);
  ::dup2(safe_out, answers);
  ::closefrom(5);
  const int program = ::open(PAWL_FILE_CHILD, O_RDONLY | O_CLOEXEC);  // another user may not reach it by its path
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!options.environment.empty()) ::setenv("LD_PRELOAD", PAWL_FILE_PRELOAD, 1);
  if (options.group) (void)(::setgroups(0, nullptr) + ::setgid(*options.group));
  if (options.user) (void)::setuid(*options.user);
  std::vector<std::string> words = options.prefix;
  words.emplace_back(PAWL_FILE_CHILD);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (options.prefix.empty()) ::fexecve(program, arguments.data(), environ);
  ::execvp(arguments[0], arguments.data());
  ::_exit(99);
}

}  // namespace

Child::Child(const Options& options) {
  int there[2];
  int back[2];
  if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  started_ = ::fork();
  if (started_ == 0) become(options, there[0], back[1]);
  ::close(there[0]);
  ::close(back[1]);
  to_ = there[1];
  from_ = back[0];
  const std::string hello = answer();
  if (!hello.starts_with("pid ")) throw std::runtime_error("the child did not start: " + hello);
  pid_ = static_cast<pid_t>(std::stol(hello.substr(4)));
}

Child::Child(const std::string& url, const std::string& lease) : Child() {
  const std::string opened = say("open " + url + " " + lease);
  if (opened != "ok") throw std::runtime_error(opened);
}

Child::~Child() {
  kill();
  ::close(to_);
  ::close(from_);
}

void Child::send(const std::string& command) {
  const std::string line = command + "\n";
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) throw std::runtime_error("write");
}

std::string Child::answer(std::chrono::milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  for (;;) {
    const std::size_t line = rest_.find('\n');
    if (line != std::string::npos) {
      std::string text = rest_.substr(0, line);
      rest_.erase(0, line + 1);
      return text;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{from_, POLLIN, 0};
    if (left <= 0ms || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) return "(no answer)";
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(from_, bytes.data(), bytes.size());
    if (size <= 0) return "(dead)";
    rest_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Child::kill() {
  if (started_ <= 0) return;
  // Behind a prefix it is not ours to wait for.
  pollfd gone{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  signal(SIGKILL);
  ::kill(started_, SIGKILL);
  ::waitpid(started_, nullptr, 0);
  if (gone.fd >= 0) {
    (void)::poll(&gone, 1, 30'000);
    ::close(gone.fd);
  }
  started_ = pid_ = -1;
}

bool Child::stopped(std::chrono::milliseconds within) const {
  for (;; within -= 1ms) {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end != std::string::npos && text[name_end + 2] == 'T') return true;
    if (within <= 0ms) return false;
    std::this_thread::sleep_for(1ms);
  }
}

bool queued(Child& bystander, const std::string& waiters) {
  for (int i = 0; i < 3000; ++i) {
    if (bystander.say("waiters job") == waiters) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

std::string token_of(const std::string& answer) {
  if (!answer.starts_with("ok ")) throw std::runtime_error("not granted: " + answer);
  return answer.substr(3);
}

}  // namespace pawl::process
