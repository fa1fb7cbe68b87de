#include "lock/other_kinds.hpp"

#include "lock/settings.hpp"
#include "store/answered.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace pawl::lock {

namespace {

constexpr Kind all_kinds[] = {Kind::mutex, Kind::rw, Kind::permits, Kind::election};

std::string_view with_article(Kind kind) {
  switch (kind) {
    case Kind::mutex: return "a mutex";
    case Kind::rw: return "a rw lock";
    case Kind::permits: return "a semaphore";
    case Kind::election: return "an election";
  }
  return "another lock";
}

}  // namespace

base::awaitable<Result<std::vector<LockView>>> other_kinds(base::Runtime& runtime, store::Scheme& scheme,
                                                           store::LockKey key, Duration patience) {
  std::vector<LockView> others;
  std::set<std::string> known;  // a claim that is in the views of several kinds counts once
  for (const Kind other : all_kinds) {
    if (other == key.kind || !check_kind(other, scheme.capabilities())) continue;
    const store::LockKey asked{other, key.name};
    const base::Deadline deadline = base::Deadline::in(runtime.now(), patience);
    Result<LockView> view = co_await store::answered(scheme.inspect(asked, deadline));
    if (!view) co_return view.error();
    const auto harmless = [&](const ClaimView& claim) {
      return scheme.waits_for(key.kind, other, claim.mode) || !known.insert(claim.claim).second;
    };
    std::erase_if(view->holders, harmless);
    std::erase_if(view->waiters, harmless);
    if (!view->holders.empty() || !view->waiters.empty()) others.push_back(std::move(*view));
  }
  co_return others;
}

std::string describe_other_kinds(const store::LockKey& key, const std::vector<LockView>& others) {
  std::string list;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i > 0) list += i + 1 < others.size() ? ", " : " and ";
    list += with_article(others[i].kind);
  }
  return key.name.quoted() + " is also in use as " + list + ": " + std::string(with_article(key.kind)) +
         " does not exclude " + (others.size() == 1 ? "it" : "them");
}

bool LookAllowance::take(base::Time now) {
  base::Time next = next_.load(std::memory_order_relaxed);
  for (;;) {
    const base::Time turn = std::max(next, now - at_once * interval);
    if (turn + interval > now) return false;
    if (next_.compare_exchange_weak(next, turn + interval, std::memory_order_relaxed)) return true;
  }
}

}  // namespace pawl::lock
