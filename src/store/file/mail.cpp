#include "store/file/mail.hpp"

#include "base/ids.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace pawl::store::file {

namespace {

constexpr std::string_view prefix = "mail-";

struct Datagram {
  ClaimId to = {};
  std::uint64_t epoch = 0;
  std::uint64_t counter = 0;
  std::uint32_t layout = current_layout;
  std::uint8_t what = 0;
  std::uint8_t contended = 0;
};

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

/// Of a mailbox that was found: whatever its name leads to by now.
sockaddr_un address_of(const Fd& mailbox) { return address_of(fmt::format("/proc/self/fd/{}", mailbox.get())); }

constexpr std::size_t most_routes = 64;

enum class Sent { done, mailbox_full, nobody_there };

/// Through a socket that is connected, or to an address.
Sent send_by(const Fd& socket, const sockaddr_un* address, const Datagram& datagram) {
  const auto* to = reinterpret_cast<const sockaddr*>(address);
  const socklen_t size = address != nullptr ? sizeof *address : 0;
  if (::sendto(socket.get(), &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL, to, size) >= 0) return Sent::done;
  return errno == EAGAIN || errno == ENOBUFS ? Sent::mailbox_full : Sent::nobody_there;
}

Fd open_socket() { return Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

PostOffice::PostOffice() : reserve_(open_socket()) {}

const Fd* PostOffice::route_to(const Receiver& receiver, const Folder& folder) {
  const auto known = routes_.find(receiver);
  if (known != routes_.end()) return &known->second;
  if (routes_.size() >= most_routes) routes_.clear();  // those who still get letters come back
  const Fd mailbox = folder.find_socket(mailbox_name(receiver.first, receiver.second).c_str());
  if (!mailbox) return nullptr;
  const sockaddr_un address = address_of(mailbox);
  Fd route = open_socket();
  if (!route || ::connect(route.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return nullptr;
  }
  return &routes_.emplace(receiver, std::move(route)).first->second;
}

void PostOffice::send(const Folder& folder, const Gate& gate, const Letter& letter) {
  const std::lock_guard lock(mutex_);
  const Receiver receiver{letter.process, letter.mailbox};
  const Fd* route = route_to(receiver, folder);
  // Where others may write, a name can be a link that leads elsewhere: without a descriptor the letter is not sent.
  if (route == nullptr && folder.shared()) return void(gate.lost_letters(letter.process).fetch_add(1));
  sockaddr_un address{};
  if (route == nullptr) address = address_of(folder.reach(mailbox_name(letter.process, letter.mailbox)));
  const Fd& socket = route != nullptr ? *route : reserve_;
  const sockaddr_un* to = route != nullptr ? nullptr : &address;

  Datagram datagram{.to = letter.to};
  datagram.epoch = letter.notice.grant.token.epoch();
  datagram.counter = letter.notice.grant.token.counter();
  datagram.what = static_cast<std::uint8_t>(letter.notice.what);
  datagram.contended = letter.notice.grant.contended ? 1 : 0;
  const Sent sent = send_by(socket, to, datagram);
  if (sent == Sent::mailbox_full) {
    gate.lost_letters(letter.process).fetch_add(1);
    // If there is room now, this one makes the receiver look at the counter; if not, one of those before will.
    [[maybe_unused]] const Sent reminded = send_by(socket, to, {});
  }
  if (sent == Sent::nobody_there) routes_.erase(receiver);
}

std::string mailbox_name(ProcessKey process, std::uint64_t mailbox) {
  return std::string(prefix) + base::hex(process, mailbox);
}

std::optional<ProcessKey> mailbox_owner(std::string_view name) {
  ProcessKey process = 0;
  std::uint64_t mailbox = 0;
  if (!name.starts_with(prefix) || !base::parse_hex(name.substr(prefix.size()), process, mailbox)) return std::nullopt;
  return process;
}

Result<Fd> open_mailbox(const Folder& folder, const std::string& name) {
  Fd fd = open_socket();
  if (!fd) return system_failure("make a socket for", folder.shown(name), errno);
  const sockaddr_un address = address_of(folder.reach(name));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_failure("make the socket", folder.shown(name), errno);
  }
  folder.share_socket(name.c_str());
  return fd;
}

std::optional<std::pair<ClaimId, Notice>> read_letter(int mailbox) {
  for (;;) {
    Datagram datagram;
    const ssize_t size = ::recv(mailbox, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    const bool ours = size == sizeof datagram && datagram.layout == current_layout;
    if (!ours || datagram.what > static_cast<std::uint8_t>(Notice::What::gone)) continue;
    Notice notice{.what = static_cast<Notice::What>(datagram.what)};
    notice.grant = {Token(datagram.epoch, datagram.counter), datagram.contended != 0};
    return std::pair(datagram.to, notice);
  }
}

}  // namespace pawl::store::file
