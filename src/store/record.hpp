#pragma once

#include "store/chronicle.hpp"
#include "store/claim.hpp"
#include "store/rules.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store {

/// Words of the form key=value behind "pawl1", as a store's nodes or keys have them for a value: readable in any client.
class Words {
 public:
  /// Nothing: these are not ours.
  static std::optional<Words> parse(std::string_view text);
  std::string to_text() const;

  void put(const std::string& key, std::string_view value);
  void put(const std::string& key, std::uint64_t value);
  /// Empty, or 0, where it is not there.
  std::string text(const std::string& key) const;
  std::uint64_t number(const std::string& key) const;
  bool has(const std::string& key) const { return words_.contains(key); }

 private:
  std::map<std::string, std::string> words_;
};

/// What the node or key of a claim says of it.
struct Record {
  /// Where its place among the others does not tell.
  enum class Stage : std::uint8_t {
    waiting,
    held,
    failed,  ///< its holder has lost it: it stands in the way for its lock-delay
  };

  ClaimId id = {};
  Stage stage = Stage::waiting;
  Owner owner = {};
  Mode mode = Mode::exclusive;
  Claim::Permits permits = {};
  Slots slots = {};
  std::string value = {};
  Duration lease = {};      ///< how long the servers wait for a sign of life: the session's, not ours
  std::uint64_t since = 0;  ///< milliseconds since 1970, by its client's clock; 0: the store knows
  Duration lock_delay = {};
  std::uint64_t epoch = 0;  ///< when it was made; that of its token is the same or a later one
  Token token = {};         ///< where it is not the node's own: after a downgrade
  std::string name = {};    ///< the lock's, where its path does not tell
  bool release_requested = false;

  std::string to_text() const;
  /// Nothing: another library's.
  static std::optional<Record> parse(std::string_view text);
};

/// What a store keeps of a lock itself: only who holds the lock, or is about to, writes it.
struct Notes {
  /// Somebody has held it with a lock-delay: look whether he failed.
  bool delayed = false;
  /// The words of somebody else: they stay, but for an election, which nobody shares with us.
  bool foreign = false;
  /// Of an election: who has led, the newest last.
  struct Reign {
    Leader leader = {};
    std::uint64_t since = 0;  ///< milliseconds since 1970, by the leader's clock
    bool after_nobody = false;
  };
  std::vector<Reign> reigns = {};

  std::string to_text() const;
  static Notes parse(std::string_view text);
};

}  // namespace pawl::store
