#pragma once

#include <pawl/options.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace pawl::store {

/// What a scheme can and cannot do. `pawl schemes` and docs/guarantees.md are printed from it, and a contract test is
/// skipped only by what stands here.
struct Capabilities {
  std::string_view store = {};    ///< "memory"
  std::string_view scheme = {};   ///< "queue"
  std::string_view summary = {};  ///< one line for `pawl schemes`
  bool fair = false;              ///< first come, first served between clients
  bool wakes_waiters = false;     ///< by a notice; otherwise they look again by themselves
  bool knows_contention = false;  ///< tells a holder whether others wait
  bool shared_mode = false;
  bool permits = false;
  bool election = false;
  bool lock_delay = false;
  bool revocable = false;          ///< ask-to-release reaches the holder
  bool counts_to_inspect = false;  ///< what a view of a lock costs grows with its queue: a request for each waiter
  bool has_server = true;          ///< of its own, which may restart
  bool survives_restart = false;   ///< holds and queue live on when the store restarts
  bool needs_renewals = true;      ///< false: the connection itself keeps its sessions alive, for as long as it lasts
  bool bounded_by_lease = true;    ///< promise 2 holds: remaining() ends before another can hold
  Duration shortest_lease = std::chrono::milliseconds(100);
  Duration longest_lease = std::chrono::hours(24);
  std::string_view token_source = {};     ///< where the counter comes from
  std::string_view on_client_death = {};  ///< when the lock of a dead client becomes free
  std::uint64_t most_waiters = 0;         ///< 0: as many as fit into the store
  std::uint64_t most_held = 0;            ///< by one client, its waiters included; 0: as many as fit into the store
};

}  // namespace pawl::store
