#pragma once

#include "base/wakeup.hpp"
#include "session/keeper.hpp"

#include <pawl/lock_view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::claim {

using base::awaitable;
using base::Deadline;
using base::Runtime;
using base::Time;
using session::Context;
using session::Keeper;
using session::Session;

/// What a remote claim is made with. Only requests with equal terms can share one.
struct Terms {
  Duration lease = {};
  Duration lock_delay = {};
  Mode mode = Mode::exclusive;
  store::Claim::Permits permits = {};

  friend bool operator==(const Terms&, const Terms&) = default;
};

/// Where the outcome of a release arrives.
struct Settlement {
  explicit Settlement(Runtime& runtime) : wakeup(runtime) {}

  std::optional<Result<void>> outcome = {};
  base::Wakeup wakeup;

  void settle(Result<void> result);
};

/// Hears what becomes of a claim; called on the executor.
class Listener {
 public:
  virtual void claim_granted(const store::Granted& granted, std::shared_ptr<session::Validity> validity) = 0;
  /// The claim is over without a grant. What it may have left at the store is being undone.
  virtual void claim_failed(Error error) = 0;
  virtual void claim_contended() = 0;
  virtual void claim_release_requested() = 0;
  /// It was granted, and is no longer ours.
  virtual void claim_lost(const char* why) = 0;

 protected:
  ~Listener() = default;
};

/// The one waiting loop: claim, wait for a hint, claim again; hold; withdraw until the store confirms it. One task runs
/// it from beginning to end, and is never cancelled: whoever gives up tells it so, and goes.
///
/// | state    | give_up()       | let_go(ending)   | session lost            | notice "gone"  |
/// |----------|-----------------|------------------|-------------------------|----------------|
/// | asking   | leaves the queue| as give_up()     | asks in a new session   | over, told     |
/// | held     | -               | leaving          | over, listener told     | over, told     |
/// | leaving  | -               | -                | over                    | over           |
/// | over     | -               | -                | -                       | -              |
///
/// Threads: on the executor only.
class RemoteClaim final : public session::Member, public std::enable_shared_from_this<RemoteClaim> {
 public:
  struct Wish {
    store::LockKey key;
    Terms terms;
    bool may_queue = true;
    std::string label = {};
    std::string value = {};  ///< of a candidate
    bool spin = false;       ///< tries for a while before it queues up
  };

  RemoteClaim(std::shared_ptr<Context> context, std::shared_ptr<Keeper> keeper, store::Scheme& scheme, Wish wish,
              Listener& listener);

  ~RemoteClaim();

  void start();
  /// Nobody wants it any more: the listener hears nothing further.
  void give_up();
  /// The hold is over: withdraws, behind a downgrade that is under way. `settlement` may be empty.
  void let_go(store::Ending ending, std::shared_ptr<Settlement> settlement);
  /// One more who wants to know how the release ends, or has ended.
  void report_release_to(std::shared_ptr<Settlement> settlement);
  /// While it is held exclusively: from now on shared, with the same token. Asks again until the deadline.
  awaitable<Result<void>> downgrade(Deadline deadline);
  /// Whose label operators see.
  void relabel(const std::string& label);

  const Terms& terms() const { return wish_.terms; }
  bool may_queue() const { return wish_.may_queue; }
  /// The store has said that we must wait for others.
  bool must_wait() const { return must_wait_; }
  /// What the store said last of what we wait for.
  const store::Waiting& seen() const { return seen_; }
  /// What the store said last, to the claim or to the session that it needs, where that was an error that may pass; empty
  /// otherwise.
  std::string trouble() const;
  /// A request is out whose outcome is unknown.
  bool unsettled() const { return unsettled_; }

 private:
  enum class State : std::uint8_t { asking, held, leaving, over };
  enum class Outcome : std::uint8_t { granted, ask_again, over };

  bool granted_at_once();
  bool withdrawn_at_once();
  void stir();
  awaitable<void> run(std::shared_ptr<RemoteClaim> self, bool step_aside);
  void begin(std::shared_ptr<Session> session);
  awaitable<Outcome> ask();
  std::optional<Outcome> judge(const Result<store::ClaimState>& answer, Duration& pause);
  std::optional<Outcome> judge_error(const Error& error, Duration& pause);
  Outcome grant(const store::Granted& granted);
  awaitable<void> hold();
  awaitable<void> look();
  awaitable<void> withdraw();
  store::Withdrawal withdrawal() const;
  bool judge(const Result<store::Withdrawn>& answer);
  void end();
  void fail(Error error);
  void settle(Result<void> result);
  void notice(const store::Notice& notice);
  store::Waker make_waker();
  bool spins() const { return wish_.may_queue && !claim_->may_queue; }
  Duration spin_once();
  void back_off();
  Duration attempt_time() const;
  bool session_over() const { return !session_ || !session_->live(); }

  void session_lost() override;
  void session_changed() override;
  void claim_unconfirmed() override;

  const std::shared_ptr<Context> context_;
  Runtime& runtime_;
  const std::shared_ptr<Keeper> keeper_;
  store::Scheme& scheme_;
  Wish wish_;
  Listener* listener_;

  State state_ = State::asking;
  base::Wakeup wakeup_;
  std::shared_ptr<Session> session_;
  Session::Membership membership_ = 0;
  std::optional<store::Claim> claim_;
  std::optional<Result<store::ClaimState>> first_answer_;  // to a claim that was made before the task began
  std::optional<store::Granted> pushed_;                   // a grant that came as a notice
  Token token_;                                            // of its grant
  std::string trouble_;
  store::Waiting seen_ = {};
  std::vector<std::shared_ptr<Settlement>> settlements_;
  std::optional<Result<void>> released_;  // how the release has ended
  store::Ending ending_ = store::Ending::clean;
  Time patience_{};  // for an attempt that may not queue: until when the store may keep us in the dark
  Duration backoff_{};
  Time spin_until_{};
  Duration spin_pause_{};
  std::optional<Context::Leaving> leaving_;
  std::size_t downgrades_under_way_ = 0;
  base::Wakeup downgrade_answered_;
  bool wanted_ = true;
  bool must_wait_ = false;
  bool resting_ = false;  // held, and no task runs: there is nothing to do until somebody stirs
  bool unsettled_ = false;
  bool withdrawal_unsettled_ = false;
  const char* taken_away_ = nullptr;  // why, when it was
  bool nothing_left_ = false;         // the store has said that it keeps no trace of the claim
  bool must_look_ = false;
  bool label_changed_ = false;
  bool told_waiting_ = false;
};

}  // namespace pawl::claim
