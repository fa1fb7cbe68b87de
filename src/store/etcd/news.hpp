#pragma once

#include "store/store.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace pawl::store::etcd {

/// What one client tells another's session: the value of the session's key.
struct Letter {
  ClaimId claim = {};
  bool taken_away = false;  ///< otherwise its holder is asked to let go

  std::string to_text() const;
  static std::optional<Letter> parse(std::string_view text);
};

/// Which claims of a session were sent notices, and have not asked since.
class News {
 public:
  void told(ClaimId claim);
  void asked(ClaimId claim) { unasked_.erase(claim); }
  Renewal renewal() const;

 private:
  std::uint64_t changes_ = 0;
  std::set<ClaimId> unasked_;
};

}  // namespace pawl::store::etcd
