#pragma once

#include "tests/embedded_redis/keyspace.hpp"

#include <pawl/lock_view.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test::embedded {

/// The records of pawl's Redis store, read without its scripts: what stands in them, and whether that fits together. The
/// tables of keys are in src/store/redis/lua/common.lua.
class Census {
 public:
  /// `prefix`: as in the store's URL. `scheme`: queue, simple or redisson. Names are not raw.
  Census(Keyspace& keys, std::string prefix, std::string_view scheme);

  /// Of sessions that live.
  std::vector<LockView> locks();
  /// What must be so after every script and is not.
  std::optional<std::string> complaint();

  std::size_t sessions() { return count("s:"); }
  std::size_t claims() { return count("c:"); }
  /// In use, or shut.
  std::size_t used_locks() { return count(scheme_ == "queue" ? "l:" : scheme_ + ":"); }
  /// When the next session or lock-delay ends, in ms; nothing: there is none.
  std::optional<std::int64_t> next_end();

 private:
  using Complaint = std::optional<std::string>;

  template <class T>
  const T* find(const std::string& key);
  const Hash* claim(const std::string& id) { return find<Hash>("c:" + id); }
  std::optional<double> end_of(const std::string& session);
  bool lives(const std::string& session);
  std::size_t count(const std::string& start);
  /// What stands behind `start` in the keys that begin so.
  std::vector<std::string> names(const std::string& start);

  LockView queue_view(const std::string& lock);
  std::vector<LockView> key_views();
  ClaimView view(const std::string& id, const Hash& claim);
  bool has_its_key(const std::string& id, const Hash& claim);

  Complaint check_session(const std::string& session);
  Complaint check_claim(const std::string& id);
  Complaint check_key(const std::string& id, const Hash& claim, double session_ends);
  Complaint check_lock(const std::string& lock);

  Keyspace& keys_;
  const std::string prefix_;
  const std::string scheme_;
};

}  // namespace pawl::test::embedded
