#pragma once

#include "claim/remote_claim.hpp"
#include "local/local_hold.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::local {

using base::awaitable;
using base::Deadline;
using claim::Settlement;

/// How long threads of one client may pass a lock on among themselves while others wait elsewhere.
struct PassBounds {
  std::uint32_t passes = 64;  ///< 0: never
  Duration time = std::chrono::milliseconds(10);

  friend bool operator==(const PassBounds&, const PassBounds&) = default;
};

/// One local wish to hold the lock.
struct Request {
  claim::Terms terms = {};
  std::optional<Duration> wait = {};  ///< unset: for ever; 0: try
  std::optional<Duration> max_hold = {};
  std::string label = {};
  std::string value = {};  ///< of a candidate
  bool spin = false;
};

/// The queue inside one client, in front of the store: one remote claim for all local waiters, first come, first served.
///
/// | remote claim | somebody asks                  | head gives up               | last holder lets go          |
/// |--------------|--------------------------------|-----------------------------|------------------------------|
/// | none         | claims for the head            | -                           | -                            |
/// | asking       | queues up behind               | next with equal terms keeps | -                            |
/// |              |                                | the claim; else it is left  |                              |
/// | granted      | queues up behind               | -                           | passes on within bounds, or  |
/// | granted,     | comes in beside, if nobody     | -                           | withdraws and claims anew    |
/// | shared       | waits and within bounds; else  |                             |                              |
/// |              | queues up behind               |                             |                              |
///
/// Promise: every local holder has a token of its own; the lease is checked before each pass.
/// Threads: on the executor only.
class LocalLock final : public std::enable_shared_from_this<LocalLock>, private claim::Listener {
 public:
  LocalLock(std::shared_ptr<session::Context> context, std::shared_ptr<session::Keeper> keeper, store::Scheme& scheme,
            store::LockKey key, PassBounds bounds);
  ~LocalLock();

  /// A wish that has a place in the queue, or the hold already.
  struct Waiter;
  using Place = std::shared_ptr<Waiter>;
  /// Until it is granted or refused, or its time is over; `then` is called on the executor.
  using Outcome = std::function<void(Result<std::shared_ptr<LocalHold>>)>;
  void wait_without_coroutine(const Place& place, Outcome then);
  static const std::shared_ptr<LocalHold>& granted(const Place& place);

  /// It is read, nobody waits, and yet this reader may not come in: because of other terms, or because others wait at the
  /// store. It need not wait for those inside: let the store decide.
  bool full_of_readers(const Request& request) const;

  /// What can be done without waiting: takes a place, and asks the store if it is the first one.
  /// Errors: busy, cancelled, closed.
  Result<Place> queue_up(const Request& request, const std::stop_token& stop) {
    return queue_up(request, stop, deadline_of(request));
  }
  /// The rest, or all of it. Errors: timed_out too, and what the store says.
  awaitable<Result<std::shared_ptr<LocalHold>>> acquire(Request request, std::stop_token stop, Place place = {});

  /// The hold was let go: passes the lock on, or withdraws the claim and waits for the store's word.
  awaitable<Result<void>> release(std::shared_ptr<LocalHold> hold);
  /// The same in two parts: without waiting, with a `settlement` or none...
  void send_release(const std::shared_ptr<LocalHold>& hold, std::shared_ptr<Settlement> settlement);
  /// ... and the rest.
  awaitable<Result<void>> settled(std::shared_ptr<Settlement> settlement);
  void wait_without_coroutine(const std::shared_ptr<Settlement>& settlement, std::function<void(Result<void>)> then);
  /// From exclusive to shared, with the same token. Errors: lost, not_owner, outcome_unknown, and what the store says.
  awaitable<Result<void>> downgrade(std::shared_ptr<LocalHold> hold);
  /// Waiters are told `closed`, holds are lost.
  void close();

  const store::LockKey& key() const { return key_; }
  store::Scheme& scheme() const { return scheme_; }

 private:
  Result<Place> queue_up(const Request& request, const std::stop_token& stop, Deadline deadline);
  awaitable<Result<std::shared_ptr<LocalHold>>> wait(Place waiter, std::stop_token stop);
  Result<std::shared_ptr<LocalHold>> outcome(const Place& waiter);
  Result<void> outcome(const Settlement& settlement) const;
  Result<std::shared_ptr<LocalHold>> give_up(const Place& waiter);
  Deadline deadline_of(const Request& request) const;
  bool idle() const { return !remote_ && queue_.empty(); }

  void claim_for_head();
  void hand_over(const Place& waiter);
  void admit_from_queue();
  bool may_come_in(const Request& request) const;
  void let_in_beside();
  void hold_ended(const LocalHold& hold, store::Ending ending, std::shared_ptr<Settlement> settlement);
  bool may_pass() const;
  bool within_bounds() const;
  std::string who_holds() const;
  std::string after_waiting(const Request& request) const;

  void claim_granted(const store::Granted& granted, std::shared_ptr<session::Validity> validity) override;
  void claim_failed(Error error) override;
  void claim_contended() override;
  void claim_release_requested() override;
  void claim_lost(const char* why) override;

  const std::shared_ptr<session::Context> context_;
  Runtime& runtime_;
  const std::shared_ptr<session::Keeper> keeper_;
  store::Scheme& scheme_;
  const store::LockKey key_;
  const PassBounds bounds_;

  std::deque<Place> queue_;
  std::shared_ptr<claim::RemoteClaim> remote_;
  /// What close() has let go.
  struct Closed {
    std::shared_ptr<claim::RemoteClaim> remote = {};
    std::vector<std::shared_ptr<LocalHold>> holds = {};
  } closed_with_ = {};
  std::vector<std::shared_ptr<LocalHold>> current_;  // one, or several that share
  bool closed_ = false;

  // Of the remote claim, once it is granted:
  std::shared_ptr<session::Validity> validity_;
  Token token_;
  std::vector<std::uint32_t> slots_;
  bool failed_ = false;       // one of those who shared it did
  bool downgrading_ = false;  // the store was asked to share it
  std::uint32_t subs_ = 0;    // local holders so far
  std::uint32_t passes_ = 0;  // since others are known to wait
  Time contended_since_ = Time::max();
  bool release_requested_ = false;
};

}  // namespace pawl::local
