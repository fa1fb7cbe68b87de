#include "apps/cli/run/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace pawl::cli {

namespace {

/// systemd names the process that it has started, and other service managers do not: then it is us.
bool meant_for_us() {
  const char* pid = std::getenv("SYSTEMD_EXEC_PID");
  return pid == nullptr || std::string_view(pid) == std::to_string(::getpid());
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr || !meant_for_us()) return;
  socket_ = socket;
  ::unsetenv("NOTIFY_SOCKET");
}

/// Nothing depends on it: what cannot be sent is not sent.
void ServiceManager::tell(const std::string& message) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return;
  address.sun_family = AF_UNIX;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::sendto(file, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  ::close(file);
}

}  // namespace pawl::cli
