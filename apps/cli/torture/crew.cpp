#include "apps/cli/torture/crew.hpp"

#include "apps/cli/torture/faults.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace pawl::torture {

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::string& url) {
  std::vector<std::string> all{"PAWL_STORE=" + url};
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string(*one).starts_with("PAWL_STORE=")) all.emplace_back(*one);
  }
  return all;
}

/// Between fork() and execve() nothing is allocated: other threads may have had the allocator's locks.
pid_t launch(std::vector<std::string> words, const std::string& url) {
  std::vector<std::string> variables = environment_with(url);
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "no process can be made");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::execve("/proc/self/exe", argv.data(), envp.data());
  ::_exit(127);
}

}  // namespace

Crew::Crew(Setting setting, std::uint64_t seed)
    : setting_(std::move(setting)), chance_(seed), members_(setting_.places), lives_(setting_.places) {
  for (std::size_t place = 0; place < members_.size(); ++place) start(place);
}

Crew::~Crew() {
  for (const Member& member : members_) {
    if (member.pid <= 0) continue;
    ::kill(member.pid, SIGKILL);
    ::waitpid(member.pid, nullptr, 0);
  }
}

void Crew::start(std::size_t place) {
  Orders orders = setting_.orders;
  orders.worker = fmt::format("w{}.{}", place, ++lives_[place]);
  orders.seed = chance_.number() / 16;
  std::vector<std::string> words{"pawl"};
  words.insert(words.end(), setting_.command.begin(), setting_.command.end());
  const std::vector<std::string> rest = orders.words();
  words.insert(words.end(), rest.begin(), rest.end());
  members_[place] = Member{.name = orders.worker, .pid = launch(std::move(words), setting_.url(place))};
}

bool Crew::stop_one(Chance& chance) {
  Member& member = members_[chance.below(members_.size())];
  if (member.pid <= 0 || member.wake_at != 0) return false;
  member.to_stop = true;
  return ::kill(member.pid, SIGSTOP) == 0;
}

void Crew::kill_one(Chance& chance) {
  const std::size_t place = chance.below(members_.size());
  tend();
  if (const pid_t pid = members_[place].pid; pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  start(place);
}

void Crew::tend() {
  for (Member& member : members_) {
    int status = 0;
    if (member.pid > 0 && ::waitpid(member.pid, &status, WNOHANG | WUNTRACED) == member.pid) notice(member, status);
    if (member.wake_at == 0 || now() < member.wake_at) continue;
    member.wake_at = 0;
    ::kill(member.pid, SIGCONT);
  }
}

void Crew::notice(Member& member, int status) {
  if (WIFSTOPPED(status)) {
    const Milliseconds lease = setting_.orders.lease;
    const bool by_itself = !std::exchange(member.to_stop, false);
    pauses_ += by_itself ? 1 : 0;
    const Milliseconds length = by_itself ? chance_.between(lease / 2, lease * 2) : some_length(chance_, lease);
    member.wake_at = now() + Nanoseconds{1'000'000} * length.count();
    return;
  }
  member.pid = -1;
  member.wake_at = 0;
  if (WIFSIGNALED(status)) {
    accidents_.push_back(fmt::format("{} was ended by signal {}", member.name, WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    accidents_.push_back(fmt::format("{} ended with exit code {}", member.name, WEXITSTATUS(status)));
  }
}

bool Crew::working() const {
  for (const Member& member : members_) {
    if (member.pid > 0) return true;
  }
  return false;
}

std::vector<std::string> Crew::names() const {
  std::vector<std::string> all;
  all.reserve(members_.size());
  for (const Member& member : members_) all.push_back(member.name);
  return all;
}

}  // namespace pawl::torture
