#pragma once

#include "store/file/folder.hpp"
#include "store/file/gate.hpp"
#include "store/file/tables.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Letters between processes: datagrams to a socket file in the folder, whose permissions guard it.
/// A letter that finds the mailbox full (11 datagrams) is not lost without a trace: the receiver's counter in the gate
/// moves, and the receiver, who has at least one datagram left to read, then looks at everything again.
namespace pawl::store::file {

/// Where letters are sent from. A socket for each receiver, so that the kernel looks for its file only once.
/// Threads: all.
class PostOffice {
 public:
  PostOffice();

  /// Never waits. A receiver that is not there any more needs no letter.
  void send(const Folder& folder, const Gate& gate, const Letter& letter);

 private:
  using Receiver = std::pair<ProcessKey, std::uint64_t>;
  /// Null: there is no descriptor for one, or nobody at its end.
  const Fd* route_to(const Receiver& receiver, const Folder& folder);

  std::mutex mutex_;  // guards the routes
  std::map<Receiver, Fd> routes_;
  const Fd reserve_;  // for when there are no descriptors left
};

/// The name of a mailbox in the folder. Whose it is, so that those of the dead can be removed.
std::string mailbox_name(ProcessKey process, std::uint64_t mailbox);
/// Nothing: that is no mailbox.
std::optional<ProcessKey> mailbox_owner(std::string_view name);

/// Errors: the system's.
Result<Fd> open_mailbox(const Folder& folder, const std::string& name);
/// The next letter; nothing: there is none. An empty one (no claim) only says that others were lost.
std::optional<std::pair<ClaimId, Notice>> read_letter(int mailbox);

}  // namespace pawl::store::file
