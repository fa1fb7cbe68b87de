#pragma once

#include "base/wakeup.hpp"
#include "session/context.hpp"
#include "session/validity.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace pawl::session {

using base::awaitable;
using base::Deadline;

/// A claim that lives by a session.
class Member {
 public:
  /// The session is over: whatever it had at the store is gone, or will be.
  virtual void session_lost() = 0;
  /// The store had something to tell one of the session's claims, and the word may have been lost: look.
  virtual void session_changed() = 0;
  /// The store has renewed the session without this claim: what it holds is lost, now.
  virtual void claim_unconfirmed() {}

 protected:
  ~Member() = default;
};

/// A client's liveness at a store: opened once, shared by all its claims of one lease length, kept alive by one renewal.
///
/// | state  | renewal confirmed | renewal fails      | store says lost, or the deadline | idle for one lease, or end() |
/// |--------|-------------------|--------------------|----------------------------------|------------------------------|
/// | live   | live              | live, tries sooner | ended: members told              | ended                        |
/// | ended  | -                 | -                  | -                                | -                            |
///
/// Renewed at every third of the lease, more often where the store says so, and every 5 s while a member waits: one request, whatever the number of members.
/// An ended session is never renewed again, and is closed at the store until that is confirmed or its lease is over.
/// Threads: on the executor only; validity() is safe everywhere.
class Session final : public std::enable_shared_from_this<Session>, private Validity::Watcher {
 public:
  Session(std::shared_ptr<Context> context, store::SessionGrant grant);

  store::SessionId id() const { return grant_.id; }
  const std::shared_ptr<Validity>& validity() const { return validity_; }
  bool live() const { return !ended_ && validity_->valid(); }

  using Membership = std::uint64_t;
  Membership join(Member& member, store::ClaimId claim);
  void leave(Membership membership);
  /// While one of its members waits for a notice that may be lost, the session asks for it this often.
  static constexpr Duration ask_for_news = std::chrono::seconds(5);
  void wait_for_news(Membership membership, bool on);

  /// Confirms the opening and keeps the session until it ends. `over` is called when the last word to the store is said.
  void start(Time sent, std::function<void()> over);
  /// Does not wait for the next renewal to find out whether the store still knows it.
  void renew_now();
  /// No more claims under this session; it is closed at the store.
  void end(const char* why);

 private:
  awaitable<void> keep(std::shared_ptr<Session> self, std::function<void()> over);
  struct Seat {
    Member* member;
    store::ClaimId claim;
    bool waits = false;
  };
  awaitable<void> renew();
  awaitable<void> close_at_store();
  void renewed(const store::Renewal& renewal);
  void end_unconfirmed(const std::vector<store::ClaimId>& claims);
  void lost(const char* why);
  void validity_lost(const char* why) override;
  bool idle() const;
  Duration interval() const;

  const std::shared_ptr<Context> context_;
  Runtime& runtime_;
  const store::SessionGrant grant_;
  const std::shared_ptr<Validity> validity_;
  base::Wakeup wakeup_;
  std::map<Membership, Seat> members_;  // in the order of joining: a simulated run can be repeated
  Membership last_membership_ = 0;
  std::size_t waiting_ = 0;  // members that do
  Time idle_since_;
  Time last_sent_{};
  Time next_renewal_{};
  std::uint64_t changes_ = 0;
  bool ended_ = false;
};

}  // namespace pawl::session
