// The file store's mailboxes: whatever datagram arrives, a letter is one of ours or is passed over. And their names.

#include "store/file/mail.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <sys/socket.h>

#include <array>

namespace pawl::fuzz::mailbox {

using namespace store;
using store::file::Fd;

/// Two ends of one socket.
struct Pair {
  Fd sender;
  Fd receiver;
};

Pair open_pair() {
  std::array<int, 2> ends{};
  must(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are descriptors");
  return {Fd(ends[0]), Fd(ends[1])};
}

void run(std::string_view input) {
  static const Pair pair = open_pair();
  if (const auto owner = file::mailbox_owner(input)) {
    const std::string prefix = file::mailbox_name(*owner, 0).substr(0, input.size() - 16);
    must(input.starts_with(prefix), "a mailbox has one name");
  }
  if (input.size() > 10'000) return;
  must(::send(pair.sender.get(), input.data(), input.size(), MSG_DONTWAIT) >= 0, "a datagram is sent");
  const auto letter = file::read_letter(pair.receiver.get());
  if (letter) must(letter->second.what <= Notice::What::gone, "a letter says something that we know");
  must(!file::read_letter(pair.receiver.get()), "one datagram is one letter at the most");
}

}  // namespace pawl::fuzz::mailbox

PAWL_FUZZ_TARGET(mailbox, pawl::fuzz::mailbox::run);
