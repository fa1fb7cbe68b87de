#pragma once

#include "store/file/folder.hpp"
#include "store/file/gate.hpp"
#include "store/file/tables.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Letters between processes: datagrams to a socket file in the folder, whose permissions guard it.
/// A letter that finds the mailbox full (11 datagrams) is not lost without a trace: the receiver's counter in the gate
/// moves, and the receiver, who has at least one datagram left to read, then looks at everything again.
namespace pawl::store::file {

/// The socket that letters are sent from.
Fd open_sender();

/// Never waits. A receiver that is not there any more needs no letter.
void send_letter(const Fd& sender, const Folder& folder, const Gate& gate, const Letter& letter);

/// The name of a mailbox in the folder. Whose it is, so that those of the dead can be removed.
std::string mailbox_name(ProcessKey process, std::uint64_t mailbox);
/// Nothing: that is no mailbox.
std::optional<ProcessKey> mailbox_owner(std::string_view name);

/// Errors: the system's.
Result<Fd> open_mailbox(const Folder& folder, const std::string& name);
/// The next letter; nothing: there is none. An empty one (no claim) only says that others were lost.
std::optional<std::pair<ClaimId, Notice>> read_letter(int mailbox);

}  // namespace pawl::store::file
