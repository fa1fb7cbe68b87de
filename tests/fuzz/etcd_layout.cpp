// The names of etcd's keys, and letters between clients: what we call ours we find again, what another library has made is
// not taken for ours, and a letter says what it says.
// Input: one byte that says which lock, eight that say whose the claim is, then a name or a text.

#include "base/lock_name.hpp"
#include "store/etcd/layout.hpp"
#include "store/etcd/news.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pawl::fuzz::etcd_layout {

using namespace store;
using namespace store::etcd;

Kind kind_of(std::uint8_t which) {
  switch (which & 3) {
    case 0: return Kind::mutex;
    case 1: return Kind::rw;
    case 2: return Kind::permits;
    default: return Kind::election;
  }
}

void check_own_key(std::uint8_t which, std::uint64_t bits, std::string_view text) {
  const Result<LockName> name = LockName::make(std::string(text));
  if (!name) return;
  const LockKey lock{kind_of(which), *name};
  const Mode mode = (which & 4) != 0 ? Mode::shared : Mode::exclusive;
  const auto lease = static_cast<std::int64_t>(bits >> 1 | 1);
  const ClaimId claim{bits, ~bits};
  const Layout layout("pawl/", false);
  const std::string key = layout.key(lock, mode, lease, claim);
  must(key.starts_with(layout.folder(lock)), "a key is in its lock's folder");
  must(key >= all_in(layout.folder(lock)).begin && key < all_in(layout.folder(lock)).end, "and in its range");
  const auto path = path_of_key(std::string_view(key).substr(layout.folders().size()));
  must(path && path->kind == lock.kind, "the lock of a key is found again");
  const Result<std::string> decoded = base::decode_name(path->encoded_name);
  if (!layout.hides_name(lock)) must(decoded && *decoded == name->bytes(), "and so is its name");
  const auto owner = owner_of_key(path->rest);
  must(owner && owner->lease == lease && owner->claim == claim && owner->mode == mode, "and whose it is");
  const KeyRange writers = blocking(layout.folder(lock), Mode::shared);
  must((key < writers.end) == (mode == Mode::exclusive), "a reader waits for writers, and for no reader");
}

void check_any_key(std::string_view text) {
  const auto owner = owner_of_key(text);
  if (!owner) return;
  const std::string_view mark = owner->mode == Mode::shared ? "r." : "";
  must(fmt::format("{}{:x}.{}", mark, owner->lease, to_string(owner->claim)) == text, "what is ours has one form");
}

void check_letter(std::string_view text) {
  const auto letter = Letter::parse(text);
  if (!letter) return;
  const auto again = Letter::parse(letter->to_text());
  must(again && again->claim == letter->claim && again->taken_away == letter->taken_away,
       "what was read is written and read as the same");
}

void run(std::string_view input) {
  const std::uint8_t which = take_byte(input);
  check_any_key(input);
  check_letter(input);
  if (const auto path = path_of_key(input)) check_any_key(path->rest);
  std::uint64_t bits = 0;
  const std::size_t size = std::min(input.size(), sizeof bits);
  if (size > 0) std::memcpy(&bits, input.data(), size);
  check_own_key(which, bits, input.substr(size));
}

}  // namespace pawl::fuzz::etcd_layout

PAWL_FUZZ_TARGET(etcd_layout, pawl::fuzz::etcd_layout::run);
