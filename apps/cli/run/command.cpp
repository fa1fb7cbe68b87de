#include "apps/cli/run/command.hpp"

#include "apps/cli/context.hpp"
#include "base/lock_name.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace pawl::cli {

namespace {

/// Kept until exec closes it, so that the parent reads the reason if exec fails and nothing if it works.
struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Failure{own_failure, fmt::format("pipe: {}", ::strerror(errno))};
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int fd : ends) {
      if (fd >= 0) ::close(fd);
    }
  }
  void close_writer() { ::close(std::exchange(ends[1], -1)); }
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// After vfork(): the memory is the parent's, whose thread goes on when this has become the command. So nothing here may
/// allocate, lock or change what the parent reads.
[[noreturn]] void become(char* const* argv, char* const* envp, const Signals& signals, pid_t parent, pid_t group,
                         int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(own_failure);  // it died before we could ask to die with it
  ::setpgid(0, group);                              // fails if the front is dead: then we are killed anyway
  signals.restore_in_child();
  ::execvpe(argv[0], argv, envp);
  const int reason = errno;
  [[maybe_unused]] const ssize_t size = ::write(failure, &reason, sizeof reason);
  ::_exit(own_failure);
}

Failure cannot_execute(const std::string& command, int reason) {
  const bool missing = reason == ENOENT;
  return {missing ? not_found : not_executable, fmt::format("cannot run \"{}\": {}", base::printable(command),
                                                            missing ? "there is no such command" : ::strerror(reason))};
}

}  // namespace

Command::Command(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                 const Signals& signals, pid_t process_group)
    : own_group_(process_group == 0) {
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  Pipe failure;
  const pid_t parent = ::getpid();
  // Not fork(): that copies the tables of our memory, which takes as long as a short command does.
  const pid_t child = ::vfork();
  if (child == 0) become(argv.data(), envp.data(), signals, parent, process_group, failure.ends[1]);
  if (child < 0) throw Failure{own_failure, fmt::format("no process can be made: {}", ::strerror(errno))};
  pid_ = child;

  failure.close_writer();
  int reason = 0;
  ssize_t size = 0;
  while ((size = ::read(failure.ends[0], &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (size != static_cast<ssize_t>(sizeof reason)) return;
  ::waitpid(pid_, nullptr, 0);
  throw cannot_execute(words.front(), reason);
}

void become_command(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                    const Signals& signals) {
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  signals.restore_in_child();
  ::execvpe(argv[0], argv.data(), envp.data());
  throw cannot_execute(words.front(), errno);
}

void Command::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

std::optional<Command::News> Command::news() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
    if (pid != pid_) continue;
    if (WIFSTOPPED(status)) return News{News::What::stopped, WSTOPSIG(status)};
    if (WIFCONTINUED(status)) return News{News::What::continued};
    ended_ = true;
    return News{News::What::ended, WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status)};
  }
  tree_ended_ = pid < 0 && errno == ECHILD;
  return std::nullopt;
}

}  // namespace pawl::cli
