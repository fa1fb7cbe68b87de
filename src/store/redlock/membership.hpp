#pragma once

#include "base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Which nodes may vote. A node that has lost its data has forgotten its locks and its counters: it is no voter until it
/// has rejoined. Decided here from what the nodes say of themselves; the scripts (lua/) keep the records.
///
/// Each node keeps: an epoch, the life of the server in which it became a member of that epoch, and a nonce, made anew
/// whenever it is met without data or in another life. What a client has decided applies to the nonce that it saw: a
/// node that was wiped meanwhile refuses it.
///
/// | a node is  | its record                                  | becomes a member by                               |
/// |------------|---------------------------------------------|---------------------------------------------------|
/// | member     | of the highest epoch, of this life          | -                                                 |
/// | lagging    | of an earlier epoch, of this life           | accepting the epoch at once: it never voted in it |
/// | outsider   | missing, or of another life                 | rejoining: a majority of all nodes, all of them   |
/// |            |                                             | members, has known its nonce for the longest lease|
/// |            |                                             | and hands over its counters                       |
///
/// A cluster that was never used is founded by giving its nodes an epoch that is larger than each of them has seen, taken
/// from the clock after their nonces were read. All of them must answer: one that does not may be a member, and the others
/// those that have forgotten it. `pawl epoch new` does the same with a majority, to a cluster that was used as well.
namespace pawl::store::redlock {

/// What a node says of itself.
struct NodeRecord {
  bool reached = false;
  std::string nonce = {};
  std::uint64_t epoch = 0;    ///< 0: none yet
  bool of_this_life = false;  ///< it became a member in the present life of the server
  bool used = false;          ///< a lease was ever announced to it

  bool is_member_of(std::uint64_t of) const { return reached && of_this_life && epoch == of; }
};

/// What to do about it.
struct Assessment {
  enum class State : std::uint8_t {
    ready,        ///< the members are a majority
    adopt,        ///< they will be, when the lagging ones accept the epoch
    found,        ///< never used: give it an epoch
    incomplete,   ///< those that answer were never used, or have lost all data: the others may know better
    unreachable,  ///< too few nodes answer: those that do not may be the members
    forgotten,    ///< too many nodes have lost their data
  } state = State::unreachable;
  std::uint64_t epoch = 0;                ///< the highest
  std::vector<std::size_t> members = {};  ///< of that epoch
  std::vector<std::size_t> lagging = {};
  std::vector<std::size_t> outsiders = {};
};

Assessment assess(const std::vector<NodeRecord>& nodes);

/// The epoch to give to a cluster. `clock`: milliseconds since 1970.
std::uint64_t next_epoch(const std::vector<NodeRecord>& nodes, std::uint64_t known, std::uint64_t clock);

/// What a member says when it is asked to vouch for an outsider.
struct Voucher {
  Duration known_for = {};                               ///< since it was told that nonce first, by its own clock
  Duration longest = {};                                 ///< the longest lease that was announced to it
  std::map<std::uint32_t, std::uint64_t> counters = {};  ///< by bucket
};

/// What an outsider needs to rejoin.
struct Admission {
  bool granted = false;
  Duration longest = {};
  Duration wait = {};  ///< for how much longer, by the clock that is furthest behind, unless granted
  std::map<std::uint32_t, std::uint64_t> counters = {};
};

/// Of `nodes` in all. `asking`: how long the question to those who vouch may take.
Admission admit(std::size_t nodes, const std::vector<Voucher>& vouchers, Duration asking);

}  // namespace pawl::store::redlock
