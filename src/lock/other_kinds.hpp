#pragma once

#include "base/time.hpp"
#include "store/scheme.hpp"

#include <atomic>
#include <string>
#include <vector>

/// Kinds never meet: whoever takes a mutex where others use a rw lock of that name excludes nobody, and nothing fails.
namespace pawl::lock {

/// The other kinds of that name that are held or waited for, with those claims only for which a claim to `key` does not
/// wait. Each question to the store has the patience. Errors: what the store says.
base::awaitable<Result<std::vector<LockView>>> other_kinds(base::Runtime& runtime, store::Scheme& scheme,
                                                           store::LockKey key, Duration patience);

/// `"a" is also in use as a rw lock: a mutex does not exclude it`
std::string describe_other_kinds(const store::LockKey& key, const std::vector<LockView>& others);

/// How often a client looks for other kinds after a grant: so many times at once, and then once in every interval. So a
/// program with few locks looks at all of them, and one with very many pays next to nothing.
/// Threads: safe to share.
class LookAllowance {
 public:
  static constexpr int at_once = 10;
  static constexpr Duration interval = std::chrono::seconds(1);

  /// True: look now.
  bool take(base::Time now);

 private:
  std::atomic<base::Time> next_ = base::Time::min();  // when it would be the turn, if there were none at once
};

}  // namespace pawl::lock
