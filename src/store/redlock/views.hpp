#pragma once

#include "store/claim.hpp"
#include "store/redlock/node.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::redlock {

/// What the nodes have said of one lock (inspect.lua). A claim is shown where a majority has it.
class SeenLock {
 public:
  void hear(const Reply& reply);
  LockView view(const LockKey& key, std::string_view scheme, std::size_t majority) const;

 private:
  struct SeenClaim {
    std::size_t nodes = 0;
    ClaimView view = {};
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> tokens = {};  // on how many nodes
  };
  static void hear(SeenClaim& seen, const std::string& id, const std::vector<Reply>& record, Duration left);
  static Token token_of(const SeenClaim& seen);

  std::map<std::string, SeenClaim> holders_;
  std::map<std::string, SeenClaim> waiters_;
  std::size_t shut_ = 0;  // nodes on which it is in lock-delay
  Duration shut_for_ = {};
};

/// Host, pid and label stand side by side in what the scripts answer.
Owner owner_of(const std::vector<Reply>& items, std::size_t first);

}  // namespace pawl::store::redlock
