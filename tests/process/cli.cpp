#include "tests/process/cli.hpp"

#include "tests/process/child.hpp"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pawl::test {

namespace {

using namespace std::chrono_literals;

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string path_of_this_process() {
  const char* path = std::getenv("PATH");
  return std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin");
}

/// As a login shell would start it, whatever the test itself was started with. In a child of fork(), before exec.
void begin_with_default_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool alive(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && stat.size() > end + 2 && stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

std::vector<pid_t> children_of(pid_t parent) {
  const std::string pid = std::to_string(parent);
  std::istringstream in(read_file("/proc/" + pid + "/task/" + pid + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

pid_t keeper_of(pid_t pawl_run) {
  const std::vector<pid_t> children = children_of(pawl_run);
  return children.size() == 1 ? children[0] : 0;
}

pid_t command_of(pid_t pawl_run) {
  const std::vector<pid_t> children = children_of(keeper_of(pawl_run));
  return children.empty() ? 0 : children[0];
}

Process::Process(const Words& command, const Words& environment, const std::string& folder) {
  static std::atomic<int> number = 0;
  const std::string name = folder + "/process-" + std::to_string(++number);
  out_file_ = name + ".out";
  err_file_ = name + ".err";
  const auto argv = pointers(command);
  const auto envp = pointers(environment);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDOUT_FILENO);
  ::dup2(::open(err_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  begin_with_default_signals();
  ::execvpe(argv[0], argv.data(), envp.data());
  ::_exit(99);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_file_(std::move(other.out_file_)),
      err_file_(std::move(other.err_file_)) {}

Process::~Process() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const { ::kill(pid_, number); }
std::string Process::out() const { return read_file(out_file_); }
std::string Process::err() const { return read_file(err_file_); }
bool Process::running() const { return alive(pid_); }

bool Process::says(const std::string& text) const {
  return eventually([&] { return (out() + err()).find(text) != std::string::npos; });
}

Ended Process::wait() {
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!ended) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : died_of + WTERMSIG(status);
  return {ended ? code : hung, out(), err()};
}

Terminal::Terminal(const Words& command, const Words& environment) {
  const auto argv = pointers(command);
  const auto envp = pointers(environment);
  const winsize size{.ws_row = 25, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
  if (pid_ == 0) {
    begin_with_default_signals();
    ::execvpe(argv[0], argv.data(), envp.data());
    ::_exit(99);
  }
  ::fcntl(master_, F_SETFL, O_NONBLOCK);
}

Terminal::~Terminal() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(master_);
}

void Terminal::type(const std::string& keys) const {
  EXPECT_EQ(::write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

const std::string& Terminal::screen() {
  std::array<char, 1024> buffer{};
  const ssize_t size = ::read(master_, buffer.data(), buffer.size());
  if (size > 0) screen_.append(buffer.data(), static_cast<std::size_t>(size));
  return screen_;
}

std::string Terminal::foreground() const {
  const std::string name = read_file("/proc/" + std::to_string(::tcgetpgrp(master_)) + "/comm");
  return name.substr(0, name.find('\n'));
}

bool Terminal::says(const std::string& text) {
  return eventually([&] { return screen().find(text) != std::string::npos; });
}

int Terminal::wait() {
  int status = 0;
  const bool ended = eventually([&] { return screen(), ::waitpid(pid_, &status, WNOHANG) == pid_; });
  if (ended) pid_ = -1;
  return ended && WIFEXITED(status) ? WEXITSTATUS(status) : hung;
}

Process CliTest::start_with(Words environment, Words words) const {
  Words command{PAWL_CLI};
  command.insert(command.end(), words.begin(), words.end());
  return Process(command, environment, folder_.path());
}

Process CliTest::start(Words words) const {
  return start_with({path_of_this_process(), "PAWL_STORE=" + store()}, std::move(words));
}

Process CliTest::holder(const std::string& name, Words options) const {
  Words words{"run"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {name, "--", "sh", "-c", sleeper});
  Process process = start(std::move(words));
  EXPECT_TRUE(process.says("started")) << process.err();
  return process;
}

bool CliTest::queued(const std::string& name, std::size_t waiters) const {
  return eventually([&] {
    const std::string view = pawl({"show", name}).out;
    return view.find(std::to_string(waiters) + " waiting\n") != std::string::npos;
  });
}

bool CliTest::nothing_left() const {
  return eventually([&] { return pawl({"ls"}).out.empty(); });
}

}  // namespace pawl::test
