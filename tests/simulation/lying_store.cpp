#include "tests/simulation/lying_store.hpp"

#include <string>
#include <utility>
#include <variant>

namespace pawl::test {

namespace {

using base::awaitable;
using base::Bug;
using base::Deadline;
using base::planted;
using namespace store;

class LyingScheme final : public Scheme {
 public:
  explicit LyingScheme(Scheme& inner) : inner_(inner) {}

  const Capabilities& capabilities() const override { return inner_.capabilities(); }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override {
    Result<ClaimState> answer = co_await inner_.claim(changed(std::move(claim)), deadline);
    co_return changed(std::move(answer));
  }
  std::optional<Result<ClaimState>> claim_now(const Claim& claim) override {
    std::optional<Result<ClaimState>> answer = inner_.claim_now(changed(claim));
    if (answer) answer = changed(std::move(*answer));
    return answer;
  }
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override {
    return inner_.withdraw(std::move(claim), how, deadline);
  }
  std::optional<Result<Withdrawn>> withdraw_now(const Claim& claim, Withdrawal how) override {
    return inner_.withdraw_now(claim, how);
  }
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override {
    Result<Standing> standing = co_await inner_.look(std::move(claim), deadline);
    if (standing && planted(Bug::store_asks_nobody)) standing->release_requested = false;
    co_return standing;
  }
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override {
    return inner_.downgrade(std::move(claim), deadline);
  }
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override {
    return inner_.relabel(std::move(claim), deadline);
  }
  void watch(ClaimId claim, Waker waker) override {
    inner_.watch(claim, [waker = std::move(waker)](const Notice& notice) {
      const bool asks = notice.what == Notice::What::release_requested;
      if (!asks || !planted(Bug::store_asks_nobody)) waker(notice);
    });
  }
  void unwatch(ClaimId claim) override { inner_.unwatch(claim); }
  bool waits_for(Kind ours, Kind other, Mode mode) const override { return inner_.waits_for(ours, other, mode); }
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override {
    return inner_.inspect(std::move(key), deadline);
  }
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override {
    return inner_.list(std::move(prefix), deadline);
  }
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override {
    Result<Succession> seen = co_await inner_.succession(std::move(key), after, deadline);
    if (!seen || !planted(Bug::store_mixes_leaders)) co_return seen;
    for (Reign& reign : seen->reigns) reign.leader.value += " the second";
    co_return seen;
  }
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override {
    Result<bool> stands = co_await inner_.check(std::move(key), token, deadline);
    if (stands && planted(Bug::store_denies)) stands = *stands && token.sub() == 0;
    if (stands && planted(Bug::store_confirms)) stands = true;
    co_return stands;
  }
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override {
    return inner_.revoke(std::move(key), claim, now, deadline);
  }

 private:
  static Claim changed(Claim claim) {
    if (planted(Bug::store_grants_shared) && claim.key.kind == Kind::rw) claim.mode = Mode::shared;
    if (planted(Bug::store_drops_value)) claim.value.clear();
    if (planted(Bug::store_forgets_lock_delay)) claim.lock_delay = {};
    return claim;
  }
  static Result<ClaimState> changed(Result<ClaimState> answer) {
    if (!answer || !planted(Bug::store_counts_wrong)) return answer;
    auto* granted = std::get_if<Granted>(&*answer);
    if (granted != nullptr && granted->slots.size() > 1) granted->slots.pop_back();
    return answer;
  }

  Scheme& inner_;
};

class LyingStore final : public Store {
 public:
  explicit LyingStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)), scheme_(*inner_->scheme("")) {}

  void attach(Surroundings surroundings) override { inner_->attach(std::move(surroundings)); }
  awaitable<Result<void>> connect(Deadline deadline) override { return inner_->connect(deadline); }
  std::uint64_t id() const override { return inner_->id(); }
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) override {
    return inner_->open_session(std::move(request), deadline);
  }
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) override {
    return inner_->renew(session, deadline);
  }
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline) override {
    return inner_->close_session(session, deadline);
  }
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline) override { return inner_->epoch(deadline); }
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline) override {
    if (!planted(Bug::store_keeps_epoch)) co_return co_await inner_->raise_epoch(deadline);
    Result<std::uint64_t> epoch = co_await inner_->epoch(deadline);
    if (epoch) ++*epoch;
    co_return epoch;
  }
  Scheme* scheme(std::string_view name) override {
    return inner_->scheme(name) == inner_->scheme("") ? &scheme_ : nullptr;
  }
  std::vector<const Capabilities*> schemes() const override { return {&scheme_.capabilities()}; }

 private:
  const std::shared_ptr<Store> inner_;
  LyingScheme scheme_;
};

}  // namespace

std::shared_ptr<store::Store> make_lying_store(std::shared_ptr<store::Store> inner) {
  return std::make_shared<LyingStore>(std::move(inner));
}

}  // namespace pawl::test
