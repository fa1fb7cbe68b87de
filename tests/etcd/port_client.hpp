#pragma once

#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"
#include "store/store.hpp"
#include "tests/support/real_work.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace pawl::test {

using namespace std::chrono_literals;
using base::Deadline;

/// One client at the port, from the test's thread.
class PortClient {
 public:
  explicit PortClient(const std::string& url)
      : store_(store::open_store(base::Url::parse(url).value(), runtime_).value()) {
    store::Surroundings surroundings;
    surroundings.timeout = 5s;
    store_->attach(std::move(surroundings));
  }

  Deadline soon() const { return Deadline::in(runtime_.now(), 30s); }
  Result<void> connect() { return run(store_->connect(soon())); }
  store::SessionId open(Duration lease = 60s) {
    store::SessionRequest request;
    request.lease = lease;
    return run(store_->open_session(request, soon())).value().id;
  }
  Result<store::Renewal> renew(store::SessionId session) { return run(store_->renew(session, soon())); }
  store::Claim wish(store::SessionId session, const std::string& name, Kind kind = Kind::mutex) {
    const store::LockKey key{kind, store::LockName::make(name).value()};
    store::Claim claim{runtime_.make_id<store::ClaimId>(), session, key};
    claim.lease = 60s;
    return claim;
  }
  store::Claim wish_permits(store::SessionId session, const std::string& name, std::uint32_t wanted, std::uint32_t of) {
    store::Claim claim = wish(session, name);
    claim.key.kind = Kind::permits;
    claim.permits = {.wanted = wanted, .of = of};
    return claim;
  }
  Result<store::ClaimState> claim(const store::Claim& wish) { return run(scheme().claim(wish, soon())); }
  std::future<Result<store::ClaimState>> begin_claim(const store::Claim& wish) {
    return begin(runtime_, scheme().claim(wish, soon()));
  }
  /// It may be refused once.
  Token must_have_at_last(const store::Claim& wish) {
    const Result<store::ClaimState> first = claim(wish);
    EXPECT_TRUE(first || first.code() == Errc::store_unavailable);
    return first ? std::get<store::Granted>(*first).token : must_have(wish);
  }
  Token must_have(const store::Claim& wish) { return std::get<store::Granted>(claim(wish).value()).token; }
  bool has(const store::Claim& wish) {
    const Result<store::ClaimState> state = claim(wish);
    return state && std::holds_alternative<store::Granted>(*state);
  }
  bool waits(const store::Claim& wish) { return std::holds_alternative<store::Waiting>(claim(wish).value()); }
  Result<store::Withdrawn> withdraw(const store::Claim& claim, store::Withdrawal how = {}) {
    return run(scheme().withdraw(claim, how, soon()));
  }
  Result<void> downgrade(const store::Claim& claim) { return run(scheme().downgrade(claim, soon())); }
  Result<store::Standing> look(const store::Claim& claim) { return run(scheme().look(claim, soon())); }
  bool ask_for(const store::Claim& claim) { return run(scheme().revoke(claim.key, claim.id, false, soon())).value(); }
  /// `told`: of notices, on the client's executor. Until the claim is withdrawn.
  void watch(const store::Claim& claim, std::function<void()> told) {
    on_executor(runtime_,
                [&] { scheme().watch(claim.id, [told = std::move(told)](const store::Notice&) { told(); }); });
  }
  void unwatch(const store::Claim& claim) {
    on_executor(runtime_, [&] { scheme().unwatch(claim.id); });
  }
  std::uint64_t epoch() { return run(store_->epoch(soon())).value(); }

 private:
  template <class T>
  Result<T> run(base::awaitable<Result<T>> work) {
    auto begun = begin(runtime_, std::move(work));
    return take(begun);
  }
  store::Scheme& scheme() { return *store_->scheme("queue"); }

  base::RealRuntime runtime_;
  const std::shared_ptr<store::Store> store_;
};

}  // namespace pawl::test
