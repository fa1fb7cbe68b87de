#include "apps/cli/run/child.hpp"

#include "apps/cli/context.hpp"
#include "base/lock_name.hpp"
#include "base/url.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <iterator>
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

/// Nothing here may allocate or lock: other threads may have held any mutex when we were forked.
[[noreturn]] void become(char* const* argv, char* const* envp, const Signals& signals, pid_t parent, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(own_failure);  // it died before we could ask to die with it
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

constexpr std::size_t longest_variable = std::size_t{128} * 1024;  // the kernel's MAX_ARG_STRLEN, with the final zero

constexpr std::string_view ours[] = {"PAWL_LOCK", "PAWL_TOKEN", "PAWL_SEQUENCER", "PAWL_SEQUENCERS", "PAWL_VALUE"};

/// Nothing of a pawl around us: the command would take it for its own.
std::vector<std::string> inherited_environment() {
  std::vector<std::string> out;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view key = text.substr(0, text.find('='));
    if (key == "PAWL_STORE") {
      out.push_back("PAWL_STORE=" + without_password(text.substr(key.size() + 1)));
    } else if (std::find(std::begin(ours), std::end(ours), key) == std::end(ours)) {
      out.emplace_back(text);
    }
  }
  return out;
}

}  // namespace

std::string without_password(std::string_view text) {
  if (!base::Url::parse(text)) return base::redact_url(text);
  std::string url(text);
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t end = std::min(url.find_first_of("/?", begin + 3), url.size());
  const std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.find(':', begin + 3);
  if (at == std::string::npos || at < begin + 3 || colon > at) return url;
  return url.erase(colon, at - colon);
}

std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value) {
  std::vector<std::string> out = inherited_environment();
  const Sequencer& first = sequencers.front();
  out.push_back("PAWL_LOCK=" + first.name);
  out.push_back("PAWL_TOKEN=" + first.token.to_string());
  out.push_back("PAWL_SEQUENCER=" + first.to_string());
  if (value) out.push_back("PAWL_VALUE=" + *value);
  std::string all = "PAWL_SEQUENCERS=";
  for (const Sequencer& sequencer : sequencers) all += (all.back() == '=' ? "" : " ") + sequencer.to_string();
  if (all.size() < longest_variable) {
    out.push_back(std::move(all));
  } else {
    fmt::print(stderr, "pawl: PAWL_SEQUENCERS is not set: {} of them are longer than a variable can be\n",
               sequencers.size());
  }
  return out;
}

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const Signals& signals) {
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(environment);
  Pipe failure;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Failure{own_failure, fmt::format("no process can be made: {}", ::strerror(errno))};
  if (pid_ == 0) become(argv.data(), envp.data(), signals, parent, failure.ends[1]);

  failure.close_writer();
  int reason = 0;
  ssize_t size = 0;
  while ((size = ::read(failure.ends[0], &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (size != static_cast<ssize_t>(sizeof reason)) return;
  ::waitpid(pid_, nullptr, 0);
  throw cannot_execute(command.front(), reason);
}

void Child::send(int signal) {
  if (!ended_) ::kill(pid_, signal);
}

std::optional<Child::News> Child::news() {
  int status = 0;
  if (ended_ || ::waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return std::nullopt;
  if (WIFSTOPPED(status)) return News{News::What::stopped, WSTOPSIG(status)};
  ended_ = true;
  return News{News::What::ended, WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status)};
}

}  // namespace pawl::cli
