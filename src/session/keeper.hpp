#pragma once

#include "session/session.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl::session {

/// Keeps one session per lease length for a client, and opens a new one where the last was lost.
/// Limit:   at most 8 lease lengths at a time.
/// Threads: on the executor only.
class Keeper : public std::enable_shared_from_this<Keeper> {
 public:
  static constexpr std::size_t most_lengths = 8;

  explicit Keeper(std::shared_ptr<Context> context);

  /// The one of that length, if there is a live one.
  std::shared_ptr<Session> live(Duration lease) const;
  /// The same, or a new one. Errors: overloaded (too many lengths), closed, and what the store says.
  awaitable<Result<std::shared_ptr<Session>>> session(Duration lease, Deadline deadline);

  /// Why the one of that length could not be opened yet; empty where that is not so.
  std::string trouble(Duration lease) const;

  /// The store may have forgotten the sessions: each is renewed now, or found lost.
  void renew_all();

  /// Ends all sessions and waits until the store knows it. False: the deadline came first.
  awaitable<bool> close(Deadline deadline);

 private:
  struct Slot {
    std::shared_ptr<Session> live = {};
    bool opening = false;
    std::string trouble = {};  // of opening it
    std::vector<base::Wakeup*> waiting = {};
  };
  awaitable<Result<std::shared_ptr<Session>>> open(Duration lease, Deadline deadline);
  awaitable<void> wait_for_opening(Duration lease, Deadline deadline);
  void opened(Duration lease, const std::shared_ptr<Session>& session);
  void session_over(Duration lease, const Session* session);
  bool too_many(Duration lease) const;

  const std::shared_ptr<Context> context_;
  Runtime& runtime_;
  std::map<Duration, Slot> slots_;
  std::size_t open_sessions_ = 0;  // started and not over, the ended ones included
  base::Gathering all_over_;
  bool closed_ = false;
};

}  // namespace pawl::session
