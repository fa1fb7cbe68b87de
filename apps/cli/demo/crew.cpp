#include "apps/cli/demo/crew.hpp"

#include "apps/cli/context.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

namespace pawl::cli {

namespace {

struct Ends {
  int read = -1;
  int write = -1;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Failure{own_failure, fmt::format("pipe: {}", ::strerror(errno))};
  return {ends[0], ends[1]};
}

[[noreturn]] void become_worker(const DemoFolder& folder, const std::string& name, int in, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::execl("/proc/self/exe", "pawl", "demo-worker", folder.path.c_str(), name.c_str(), nullptr);
  ::_exit(own_failure);
}

Report parse(Member& member, const std::string& line) {
  Report report{.member = &member};
  std::istringstream in(line);
  std::string what;
  in >> what;
  if (what == "wrote") {
    std::int64_t waited = 0;
    in >> report.token >> waited >> report.amount;
    report.what = Report::What::wrote;
    report.waited = std::chrono::microseconds(waited);
  } else if (what == "paused" || what == "refused") {
    in >> report.token;
    report.what = what == "paused" ? Report::What::paused : Report::What::refused;
  } else {
    report.sentence = line;
  }
  return report;
}

void count(const Report& report) {
  Member& member = *report.member;
  if (report.what == Report::What::refused) ++member.refused;
  if (report.what != Report::What::wrote) return;
  ++member.acquisitions;
  member.longest_wait = std::max(member.longest_wait, report.waited);
}

}  // namespace

Crew::~Crew() {
  for (const auto& member : members_) {
    signal(*member, SIGKILL);
    end(*member);
  }
}

Member& Crew::start(const std::string& name) {
  const Ends orders = make_pipe();
  const Ends reports = make_pipe();
  const pid_t pid = ::fork();
  if (pid < 0) throw Failure{own_failure, fmt::format("no process can be made: {}", ::strerror(errno))};
  if (pid == 0) become_worker(folder_, name, orders.read, reports.write);
  ::close(orders.read);
  ::close(reports.write);
  members_.push_back(
      std::make_unique<Member>(Member{.name = name, .pid = pid, .orders = orders.write, .reports = reports.read}));
  return *members_.back();
}

void Crew::order(const Member& member, const std::string& word) {
  const std::string line = word + "\n";
  if (member.orders >= 0) [[maybe_unused]]
    const ssize_t size = ::write(member.orders, line.data(), line.size());
}

void Crew::signal(const Member& member, int number) {
  if (member.reports >= 0) ::kill(member.pid, number);
}

void Crew::end(Member& member) {
  if (member.reports < 0) return;
  ::close(std::exchange(member.reports, -1));
  ::close(std::exchange(member.orders, -1));
  ::waitpid(member.pid, nullptr, 0);
}

std::vector<Report> Crew::listen(std::chrono::milliseconds patience) {
  std::vector<pollfd> fds;
  fds.reserve(members_.size());
  for (const auto& member : members_) fds.push_back({member->reports, POLLIN, 0});  // poll skips those below 0
  std::vector<Report> reports;
  if (::poll(fds.data(), fds.size(), static_cast<int>(patience.count())) <= 0) return reports;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (fds[i].revents != 0) read_from(*members_[i], reports);
  }
  return reports;
}

void Crew::read_from(Member& member, std::vector<Report>& reports) {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(member.reports, buffer.data(), buffer.size());
  if (size <= 0) return end(member);
  member.unread.append(buffer.data(), static_cast<std::size_t>(size));
  for (std::size_t line_end = 0; (line_end = member.unread.find('\n')) != std::string::npos;) {
    reports.push_back(parse(member, member.unread.substr(0, line_end)));
    count(reports.back());
    member.unread.erase(0, line_end + 1);
  }
}

bool Crew::working() const {
  for (const auto& member : members_) {
    if (member->reports >= 0) return true;
  }
  return false;
}

}  // namespace pawl::cli
