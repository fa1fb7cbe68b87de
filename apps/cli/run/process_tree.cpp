#include "apps/cli/run/process_tree.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace pawl::cli {

namespace {

template <class Number>
Number number_at_start(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "12 (name) S 1 12 ...": the name may have blanks and parentheses in it.
std::optional<ProcessSeen> parse_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessSeen seen;
  seen.pid = number_at_start<pid_t>(text);
  seen.name = std::string(text.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(close + 1);
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    rest.remove_prefix(1);  // the blank
    if (field == 3) seen.state = rest.front();
    if (field == 4) seen.parent = number_at_start<pid_t>(rest);
    if (field == 22) seen.start = number_at_start<std::uint64_t>(rest);
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  return seen;
}

std::vector<ProcessSeen> all_processes() {
  std::vector<ProcessSeen> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  if (folder == nullptr) return all;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto pid = number_at_start<pid_t>(entry->d_name);
    if (pid <= 0) continue;
    if (auto seen = process_seen(pid)) all.push_back(std::move(*seen));
  }
  return all;
}

/// Is the number still that process's?
bool is_same(const ProcessSeen& process) {
  const std::optional<ProcessSeen> now = process_seen(process.pid);
  return now && now->start == process.start;
}

void reap_children() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

bool have_children() { return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD; }

std::vector<ProcessSeen> without(std::vector<ProcessSeen> all, const std::vector<pid_t>& spared) {
  std::erase_if(all, [&](const ProcessSeen& one) {
    return std::any_of(spared.begin(), spared.end(),
                       [&](pid_t pid) { return pid == one.pid || descends_from(one.pid, pid); });
  });
  return all;
}

void wait_for_a_child(int milliseconds) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  ::sigtimedwait(&child, nullptr, &time);
}

/// A group is killed until it is empty: a member may have forked meanwhile. Its number is not given anew before that.
void end_without_proc(pid_t known, const std::function<bool()>& give_up) {
  fmt::print(stderr, "pawl: /proc cannot be read: only the command{} can be killed, others are waited for\n",
             known < 0 ? "'s process group" : "");
  bool there = known != 0 && ::kill(known, SIGKILL) == 0;
  int pause = 1;
  while (true) {
    reap_children();
    if (!have_children()) return;
    there = there && known < 0 && ::kill(known, SIGKILL) == 0;
    if (!there && give_up()) return;
    wait_for_a_child(pause);
    pause = std::min(2 * pause, 50);
  }
}

}  // namespace

bool proc_is_readable() {
  const std::optional<ProcessSeen> seen = process_seen(::getpid());
  return seen && seen->parent == ::getppid();
}

std::optional<ProcessSeen> process_seen(pid_t pid) {
  const int file = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  return size > 0 ? parse_stat({text.data(), static_cast<std::size_t>(size)}) : std::nullopt;
}

bool is_stopped(pid_t pid) {
  const std::optional<ProcessSeen> seen = process_seen(pid);
  return seen && (seen->state == 'T' || seen->state == 't');
}

bool descends_from(pid_t pid, pid_t ancestor) {
  constexpr int deepest = 1000;  // more than there can be, unless numbers change hands while we look
  for (int level = 0; level < deepest && pid > 1; ++level) {
    const std::optional<ProcessSeen> seen = process_seen(pid);
    if (!seen) return false;
    if (seen->parent == ancestor) return true;
    pid = seen->parent;
  }
  return false;
}

std::vector<ProcessSeen> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, ProcessSeen> by_parent;
  for (ProcessSeen& seen : all_processes()) by_parent.emplace(seen.parent, std::move(seen));
  std::vector<ProcessSeen> found;
  std::vector<pid_t> parents{ancestor};
  while (!parents.empty()) {
    const auto [first, last] = by_parent.equal_range(parents.back());
    parents.pop_back();
    for (auto child = first; child != last; ++child) {
      parents.push_back(child->first == child->second.pid ? 0 : child->second.pid);
      if (child->second.state != 'Z') found.push_back(child->second);
    }
    by_parent.erase(first, last);
  }
  return found;
}

std::string format_processes(const std::vector<ProcessSeen>& processes) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, processes.size()); ++i) {
    text += fmt::format("{}{} (pid {})", i == 0 ? "" : ", ", processes[i].name, processes[i].pid);
  }
  if (processes.size() > most) text += fmt::format(" and {} more", processes.size() - most);
  return text;
}

bool send_to(const ProcessSeen& process, int signal) {
  const int file = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (file < 0) {
    // Without pidfds only a child's number is safe: it stays the child's until we reap it.
    if (errno == ESRCH || process.parent != ::getpid() || !is_same(process)) return true;
    return ::kill(process.pid, signal) == 0 || errno != EPERM;
  }
  bool allowed = true;
  if (is_same(process)) {
    allowed = ::syscall(SYS_pidfd_send_signal, file, signal, nullptr, 0) == 0 || errno != EPERM;
  }
  ::close(file);
  return allowed;
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<ProcessSeen> end_descendants(const std::vector<pid_t>& spared, pid_t known,
                                         const std::function<bool()>& give_up) {
  if (!proc_is_readable()) {
    end_without_proc(known, give_up);
    return {};
  }
  int pause = 1;
  while (true) {
    reap_children();
    if (!have_children()) return {};
    std::vector<ProcessSeen> left = without(descendants_of(::getpid()), spared);
    if (left.empty() && !spared.empty()) return {};
    bool all_can_be_killed = !left.empty();
    for (const ProcessSeen& process : left) all_can_be_killed &= send_to(process, SIGKILL);
    if (!all_can_be_killed && give_up()) return left;
    wait_for_a_child(pause);
    pause = std::min(2 * pause, 50);
  }
}

void ask_descendants_to_end(pid_t known) {
  if (!proc_is_readable() && known < 0) {
    ::kill(known, SIGTERM);
    ::kill(known, SIGCONT);
  }
  for (const ProcessSeen& process : descendants_of(::getpid())) {
    send_to(process, SIGTERM);
    send_to(process, SIGCONT);  // a stopped one would not get it
  }
}

}  // namespace pawl::cli
