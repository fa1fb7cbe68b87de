#pragma once

#include "store/claim.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::store::etcd {

/// Keys from `begin` up to, not including, `end`.
struct KeyRange {
  std::string begin;
  std::string end;
};

/// Whose a key in a lock's line is, as its name tells.
struct KeyOwner {
  std::int64_t lease = 0;  ///< its session's
  ClaimId claim = {};
  Mode mode = Mode::exclusive;  ///< as which it was made; a downgraded one says otherwise in its record
};

/// Where everything is.
///
/// | key                                           | value                                                          |
/// |-----------------------------------------------|----------------------------------------------------------------|
/// | <prefix>epoch                                 | fencing::EpochRecord                                           |
/// | <prefix>sessions/<lease>                      | the last letter to the session; as long as its lease           |
/// | <prefix>queue/<kind>/<name>/<lease>.<claim>   | Record of an exclusive claim; of an election the value it stands for |
/// | <prefix>queue/<kind>/<name>/r.<lease>.<claim> | Record of a shared claim                                       |
/// | <prefix>candidates/<folder>/<claim>           | Record of a claim to an election                               |
/// | <prefix>reigns/<folder>                       | Notes: who has led it                                          |
/// | <prefix>tails/<folder>                        | of a mutex: the key that came last, if it had to wait          |
/// | <prefix>refused/<claim>                       | a tombstone: its session has withdrawn it                      |
///
/// With names=raw a lock's folder is its name and a slash, as of Go's concurrency.Mutex and concurrency.Election, whose keys
/// are <name>/<lease>. A lease is written in hexadecimal digits as they write it; its keys come before those of readers.
class Layout {
 public:
  Layout(std::string prefix, bool raw_names) : prefix_(std::move(prefix)), raw_names_(raw_names) {}

  std::string epoch() const { return prefix_ + "epoch"; }
  /// A key that never exists: to delete it is a write that changes nothing.
  std::string nothing() const { return prefix_ + "nothing"; }
  std::string session(std::int64_t lease) const;
  std::string refused(ClaimId claim) const { return prefix_ + "refused/" + to_string(claim); }

  /// Ends with a slash.
  std::string folder(const LockKey& key) const;
  /// Of all locks, or of those of a kind.
  std::string folders() const { return prefix_ + "queue/"; }
  std::string key(const LockKey& lock, Mode mode, std::int64_t lease, ClaimId claim) const;
  /// Of a claim to an election.
  std::string candidate(const LockKey& lock, ClaimId claim) const { return candidates(lock) + to_string(claim); }
  std::string candidates(const LockKey& lock) const { return candidates_of(folder(lock)); }
  std::string candidates_of(const std::string& folder) const;
  std::string reigns(const LockKey& lock) const;
  /// Nothing: others may come last who do not write it.
  std::optional<std::string> tail(const LockKey& lock) const;
  /// Does the last part of its folder not tell its name?
  bool hides_name(const LockKey& lock) const;

 private:
  std::string prefix_;
  bool raw_names_;
};

/// Nothing: another library's. `rest`: what is behind the folder.
std::optional<KeyOwner> owner_of_key(std::string_view rest);
/// The lock of a key that is behind folders(). The name is empty where the key does not tell it.
struct KeyPath {
  Kind kind = Kind::mutex;
  std::string encoded_name = {};
  std::string rest = {};
};
std::optional<KeyPath> path_of_key(std::string_view behind_folders);

/// All keys that begin so.
KeyRange all_in(const std::string& folder);
/// Whom a claim of that mode must wait for.
KeyRange blocking(const std::string& folder, Mode mode);

/// Can there be such a lock? Errors: unsupported, with names=raw.
Result<void> check_kind(Kind kind, bool raw_names);

}  // namespace pawl::store::etcd
