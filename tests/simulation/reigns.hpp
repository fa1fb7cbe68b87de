#pragma once

#include "base/time.hpp"
#include "tests/simulation/oracle.hpp"

#include <pawl/lock_view.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pawl::test {

/// Who has led one election, as far as anybody has seen: the users who won it, and whoever looked at the store.
class Reigns {
 public:
  struct Reign {
    std::string value;
    base::Time seen;
  };

  void seen(Token token, const std::string& value, base::Time now) { all_.try_emplace(token, Reign{value, now}); }
  /// The store has forgotten them all, and grants in that epoch from now on.
  void forget(std::uint64_t epoch) { epoch_ = epoch; }
  Token newest() const { return all_.empty() ? Token{} : all_.rbegin()->first; }
  const Reign* find(Token token) const;
  /// Whoever led between these two, neither of them included, and had to be told: among the last 32, and no minute ago.
  std::optional<Token> between(Token before, std::optional<Token> after, base::Time now) const;

 private:
  std::map<Token, Reign> all_;
  std::uint64_t epoch_ = 0;
};

/// What one observer of an election was told so far. A complaint says what was promised and not kept:
///   - tokens grow: no leader is told twice, and none too late;
///   - "nobody" is not told twice in a row;
///   - a leader stands for what it has campaigned with;
///   - nobody who led since the first answer is left out;
///   - in the end the last thing told is how it is.
class Testimony {
 public:
  Complaint told(const std::optional<Leader>& change, const Reigns& reigns, base::Time now);
  /// Nobody leads any more, and there was time enough to tell it.
  Complaint closed(const Reigns& reigns, base::Time now) const;

 private:
  bool begun_ = false;
  bool nobody_ = false;  // was the last thing told
  Token last_;           // leader that was told, or that need not be
  Token told_;
};

}  // namespace pawl::test
