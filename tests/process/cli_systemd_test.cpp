#include "tests/process/cli_servers.hpp"
#include "tests/support/skip.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// As a service: what systemd is told, and the example units.
namespace pawl::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What NOTIFY_SOCKET names. `name` is a path, or @ and a name in the abstract namespace.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& name) : name_(name), file_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), address.sun_path);
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    const int on = 1;
    EXPECT_EQ(::setsockopt(file_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    EXPECT_EQ(::bind(file_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() { ::close(file_); }

  std::string variable() const { return "NOTIFY_SOCKET=" + name_; }

  struct Message {
    std::string text = {};
    pid_t from = 0;
  };
  /// The next one; an empty one if none comes.
  Message next(int milliseconds = 60'000) const {
    pollfd one{file_, POLLIN, 0};
    if (::poll(&one, 1, milliseconds) != 1) return {};
    std::array<char, 512> text{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    iovec data{text.data(), text.size()};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(file_, &header, 0);
    if (size < 0) return {};
    ucred sender{};
    if (const cmsghdr* first = CMSG_FIRSTHDR(&header)) {
      std::copy_n(CMSG_DATA(first), sizeof sender, reinterpret_cast<unsigned char*>(&sender));
    }
    return {std::string(text.data(), static_cast<std::size_t>(size)), sender.pid};
  }
  bool silent() const { return next(0).text.empty(); }

 private:
  const std::string name_;
  const int file_;
};

class CliNotify : public CliTest {
 protected:
  Process start_service(const NotifySocket& socket, Words words, Words more = {}) const {
    Words environment{path, "PAWL_STORE=" + store(), socket.variable()};
    environment.insert(environment.end(), more.begin(), more.end());
    return start_with(std::move(environment), std::move(words));
  }
  void expect_ready(const NotifySocket& socket, const Process& process, const std::string& what) {
    EXPECT_EQ(socket.next().text, "STATUS=waiting for " + what);
    const NotifySocket::Message ready = socket.next();
    EXPECT_EQ(ready.text, "READY=1\nSTATUS=running under " + what);
    EXPECT_EQ(ready.from, process.pid()) << "systemd heeds only the process that it has started";
  }
};

TEST_F(CliNotify, IsReadyWhenTheCommandHasBegun) {
  for (const std::string& name : {folder_ / "notify", "@pawl-test-" + std::to_string(::getpid())}) {
    for (const Words& options : {Words{}, Words{"--no-fork"}}) {
      const NotifySocket socket(name);
      Words words{"run"};
      words.insert(words.end(), options.begin(), options.end());
      words.insert(words.end(), {"job", "--", "sh", "-c", "echo \"<$NOTIFY_SOCKET>\"; echo started; exec sleep 1000"});
      Process process = start_service(socket, words);
      expect_ready(socket, process, "\"job\"");
      ASSERT_TRUE(process.says("started"));
      EXPECT_THAT(process.out(), HasSubstr("<>\n")) << "pawl is the one to say READY=1";
      process.signal(SIGTERM);
      process.wait();
      std::filesystem::remove(folder_ / "notify");
      EXPECT_TRUE(nothing_left());
    }
  }
}

TEST_F(CliNotify, ACommandThatEndsAtOnceWasReady) {
  const NotifySocket socket(folder_ / "notify");
  Process process = start_service(socket, {"run", "job", "--", "true"});
  expect_ready(socket, process, "\"job\"");
  EXPECT_EQ(process.wait().code, 0);
}

TEST_F(CliNotify, ACandidateIsReadyWhenItLeads) {
  Process leader = start({"elect", "api", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(leader.says("started"));
  const NotifySocket socket(folder_ / "notify");
  const Process candidate = start_service(socket, {"elect", "api", "--", "sh", "-c", sleeper});
  EXPECT_EQ(socket.next().text, "STATUS=waiting for \"api\"");
  ASSERT_TRUE(queued("api", 1));
  EXPECT_TRUE(socket.silent());
  leader.signal(SIGTERM);
  EXPECT_THAT(socket.next().text, StartsWith("READY=1\n"));
}

TEST_F(CliNotify, WhatCannotBeHadIsNeverReady) {
  const Process holder = this->holder("job");
  const NotifySocket socket(folder_ / "notify");
  EXPECT_EQ(start_service(socket, {"run", "--no-wait", "job", "--", "true"}).wait().code, 124);
  EXPECT_EQ(socket.next().text, "STATUS=waiting for \"job\"");
  EXPECT_TRUE(socket.silent());
}

TEST_F(CliNotify, AScriptOfAServiceKeepsItsSocket) {
  const NotifySocket socket(folder_ / "notify");
  Process process =
      start_service(socket, {"run", "job", "--", "sh", "-c", "echo \"$NOTIFY_SOCKET\""}, {"SYSTEMD_EXEC_PID=1"});
  const Ended ended = process.wait();
  EXPECT_EQ(ended.out, folder_ / "notify" + "\n");
  EXPECT_TRUE(socket.silent());
}

/// systemctl stop with KillMode=control-group: TERM to every process of the unit at once, and later KILL.
TEST_F(CliNotify, AServiceThatIsStoppedAsAWholeKeepsTheLockToTheEnd) {
  const std::string pids = folder_ / "pids";
  Process alice = start({"run", "--lock-delay", "2s", "job", "--", "bash", "-c",
                         "trap '' TERM; sleep 1000 & echo $! > " + pids + "; echo $$ >> " + pids +
                             "; setsid sleep 1000 & echo $! >> " + pids + "; echo started; wait; wait; wait"});
  ASSERT_TRUE(alice.says("started"));
  const std::string look = "for pid in $(cat " + pids +
                           "); do grep -qs '^State:.[RSDTt]' /proc/$pid/status && grep -aqsE 'sleep|bash' "
                           "/proc/$pid/cmdline && exit 9; done; exit 0";
  Process bob = start({"run", "job", "--", "sh", "-c", look});
  ASSERT_TRUE(queued("job", 1));
  std::vector<pid_t> unit{alice.pid(), keeper_of(alice.pid())};
  std::ifstream in(pids);
  for (pid_t pid = 0; in >> pid;) unit.push_back(pid);
  ASSERT_EQ(unit.size(), 5U);
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const pid_t pid : unit) ::kill(pid, signal);
    if (signal == SIGTERM) {
      EXPECT_TRUE(bob.running()) << "TERM is ignored there: the lock is held";
    }
  }
  alice.wait();
  EXPECT_EQ(bob.wait().code, 0);
}

TEST_F(CliNotify, TheExampleUnitsAreValid) {
  const std::string systemd_analyze = "/usr/bin/systemd-analyze";
  if (!std::filesystem::exists(systemd_analyze)) PAWL_SKIP_WITHOUT("systemd-analyze");
  Words command{systemd_analyze, "--man=no", "--generators=no", "verify"};
  for (const auto& unit : std::filesystem::directory_iterator(PAWL_SOURCE "/examples/systemd")) {
    std::string text = read_file(unit.path());
    // Programs that this machine has.
    const auto replace = [&](const std::string& what, const std::string& by) {
      for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    };
    replace("/usr/bin/pawl ", PAWL_CLI " ");
    replace("User=backup", "User=root");
    const std::string copy = folder_ / unit.path().filename().string();
    std::ofstream(copy) << text;
    command.push_back(copy);
  }
  ASSERT_GE(command.size(), 7U);
  const Ended ended = Process(command, {path}, folder_.path()).wait();
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(ended.err, "");
}

}  // namespace
}  // namespace pawl::test
