#pragma once

#include "base/runtime.hpp"
#include "store/claim.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::test {

/// Every request of the port.
enum class Operation : std::uint8_t {
  connect,
  open_session,
  renew,
  close_session,
  claim,
  withdraw,
  look,
  downgrade,
  relabel,
  inspect,
  list,
  check,
  revoke,
  epoch,
};
inline constexpr std::size_t operation_count = 14;

std::string_view to_string(Operation) noexcept;

/// What happens to one request on its way to the store and back.
struct RequestFault {
  enum class Loss : std::uint8_t {
    none,
    refuse,        ///< not applied; store_unavailable at once
    request,       ///< never applied; outcome_unknown at the deadline
    reply,         ///< applied; outcome_unknown at the deadline
    thrown,        ///< not applied: the call throws std::system_error, as if there were no thread left
    thrown_after,  ///< applied, and then the same
    refuse_after,  ///< applied; permission_denied at once, like a script that fails in the middle
  } loss = Loss::none;
  /// Of thrown and thrown_after: a call that could be answered at once (claim_now, withdraw_now) throws as well. Otherwise
  /// that call answers nothing, and the request that follows it throws.
  bool at_once = false;

  /// A delay past the deadline is outcome_unknown at the deadline, and the request is applied later all the same.
  Duration request_delay = {};
  Duration reply_delay = {};

  /// Applied a second time, this long after the first. The caller gets the answer of the second application (that of the
  /// first for a withdrawal, see store::Scheme::withdraw), or nothing:
  /// a second copy exists only because a client sent again for want of an answer, and TCP hands every byte over once. So
  /// an answer that was delivered has no copy of its request behind it.
  std::optional<Duration> again_after = {};
};

/// What happens to one notice.
struct NoticeFault {
  enum class What : std::uint8_t { deliver, drop, delay, twice } what = What::deliver;
  Duration delay = {};  ///< for `delay`, and for the second one of `twice`
};

/// Decides, request by request.
/// Threads: called from any.
class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  virtual RequestFault next(Operation operation) = 0;
  virtual NoticeFault next_notice(const store::Notice& notice) = 0;
  /// Claims that the renewal which is answered now does not cover.
  virtual std::vector<store::ClaimId> take_unconfirmed() { return {}; }
};

/// Levers for scenes. All of them are up at the beginning: nothing goes wrong.
/// Threads: safe to share.
class ScriptedFaults final : public FaultPlan {
 public:
  /// The network is gone: requests and notices vanish.
  void cut();
  void heal();
  /// The store is there and says no.
  void refuse(bool on);
  void drop_replies(bool on);
  void drop_notices(bool on);
  /// Every request takes this long to reach the store.
  void delay_all(Duration delay);
  /// Every request is applied twice.
  void duplicate(bool on);
  /// The next one of these, once.
  void lose_next_request(Operation operation);
  void lose_next_reply(Operation operation);
  /// The next call of these throws, once; `applied`: after the store has done what was asked.
  void throw_next(Operation operation, bool applied = false, bool at_once = false);
  /// The store does what the next one of these asks, and answers permission_denied, once.
  void refuse_after_next(Operation operation);

  /// The next renewal does not cover that claim, as on a store whose leases sit on the claims.
  void leave_out_of_next_renewal(store::ClaimId claim);

  /// How many requests of that sort there were, lost ones included.
  std::size_t count(Operation operation) const;
  /// How many notices of that sort came; lost ones do not count.
  std::size_t count(store::Notice::What what) const;

  RequestFault next(Operation operation) override;
  NoticeFault next_notice(const store::Notice& notice) override;
  std::vector<store::ClaimId> take_unconfirmed() override;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<store::Notice::What, std::size_t> notices_;
  bool cut_ = false;
  bool refuse_ = false;
  bool drop_replies_ = false;
  bool drop_notices_ = false;
  bool duplicate_ = false;
  Duration delay_{};
  std::vector<store::ClaimId> unconfirmed_;
  std::multiset<Operation> lost_requests_;
  std::multiset<Operation> lost_replies_;
  std::multiset<Operation> thrown_;
  std::multiset<Operation> thrown_after_;
  std::multiset<Operation> thrown_at_once_;
  std::multiset<Operation> refused_after_;
  std::array<std::size_t, operation_count> counts_{};
};

/// How often something goes wrong, from 0 to 1.
struct FaultRates {
  double refuse = 0;
  double thrown = 0;  ///< half of them after the request was applied
  double drop_request = 0;
  double drop_reply = 0;
  double request_delay = 0;
  double reply_delay = 0;
  double duplicate = 0;
  double drop_notice = 0;
  double delay_notice = 0;
  double repeat_notice = 0;
  Duration longest_delay = std::chrono::seconds(10);
  Duration latency = {};  ///< of every request, and of every answer
};

/// Faults by chance, the same ones for the same seed of the runtime, or for the same numbers.
/// Promise: each request and each notice takes equally many random numbers, whatever the rates are: a rate that is changed
///          changes only its own faults.
/// Limit:   the runtime must outlive it.
class RandomFaults final : public FaultPlan {
 public:
  using Random = std::function<std::uint64_t()>;
  RandomFaults(Random random, FaultRates rates) : random_(std::move(random)), rates_(rates) {}
  RandomFaults(base::Runtime& runtime, FaultRates rates)
      : RandomFaults([&runtime] { return runtime.random(); }, rates) {}

  /// From now on with these; FaultRates{} = nothing goes wrong any more.
  void change(FaultRates rates);

  RequestFault next(Operation operation) override;
  NoticeFault next_notice(const store::Notice& notice) override;

 private:
  bool chance(double rate);
  Duration delay(const FaultRates& rates);
  FaultRates rates() const;

  const Random random_;
  mutable std::mutex mutex_;  // guards the rates
  FaultRates rates_;
};

}  // namespace pawl::test
