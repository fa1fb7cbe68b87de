#pragma once

#include "store/zookeeper/nodes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::zookeeper {

/// The fair scheme: everybody makes a node with the next number, the smallest one holds the lock, and each of the others
/// watches only the one that it waits for. The names are Curator's, or kazoo's.
///
/// | a claim is | claim()                                   | who is before lets go | leaves or dies    | own node goes |
/// |------------|-------------------------------------------|-----------------------|-------------------|---------------|
/// | unknown    | makes its node; alone: held; else waiting | -                     | -                 | -             |
/// | waiting    | looks again                               | held                  | looks who is left | gone          |
/// | held       | held                                      | -                     | -                 | gone          |
///
/// Each claim to a mutex or an election has another node elsewhere, its ticket, named by its id, and that is what the next
/// one watches. Who has held the lock and lets go writes to its ticket and deletes both, in one transaction: so the next one
/// is told of a change, and knows that it is its turn. Of who leaves the queue or dies, it is told of a deletion. Claims to
/// the other kinds have no tickets: there it is a deletion always, and who is left is looked for.
class Sequential final : public Nodes {
 public:
  static const Capabilities declared;

  using Nodes::Nodes;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  bool waits_for(Kind ours, Kind other, Mode mode) const override;

 private:
  /// A holder that failed, and its lock-delay.
  struct Ghost {
    std::string path;
    Record record;
    base::Time until = {};
  };
  using Ghosts = std::vector<Ghost>;
  /// What is left of the permits.
  struct Room {
    std::set<std::uint32_t> slots;  ///< that nobody has
    std::size_t used = 0;           ///< permits, also those of other libraries, which have no slots
    std::size_t in_lock_delay = 0;  ///< of these
    Ghosts over = {};               ///< their time is over
    Duration changes_in = {};       ///< at the latest
    bool suffices(const Claim::Permits& permits) const {
      return used + permits.wanted <= permits.of && slots.size() >= permits.wanted;
    }
  };

  std::string queue_of(const LockKey& key) const;
  std::string leases_of(const LockKey& key) const;
  std::string delays_of(const LockKey& key) const;
  std::string guard_of(const Claim& claim) const;
  std::string ticket_of(ClaimId id) const;
  int folder_mode() const;

  static void look_for_it(Entry& entry);
  awaitable<Result<bool>> find_own_node(SharedEntry entry, Deadline deadline);
  awaitable<Result<void>> settle_creation(SharedEntry entry, Deadline deadline) override;
  awaitable<Result<std::optional<Waiting>>> busy(SharedEntry entry, Deadline deadline);
  awaitable<Result<std::optional<Waiting>>> permits_busy(SharedEntry entry, Deadline deadline);
  awaitable<Result<std::optional<std::uint32_t>>> agreed(SharedLink link, LockKey key, Deadline deadline);
  awaitable<Result<void>> check_number(SharedEntry entry, Deadline deadline);
  awaitable<Result<void>> make_folders(SharedLink link, LockKey key, bool tickets, Deadline deadline);
  awaitable<Result<ClaimState>> join(SharedEntry entry, Deadline deadline);
  SharedRequest ask_for_place(Entry& entry) const;
  Result<bool> joined(Entry& entry, const Answer& made);
  awaitable<Result<ClaimState>> guess_place(SharedEntry entry, bool two_there, Deadline deadline);
  awaitable<Result<ClaimState>> stand(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> next_step(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> take_turn(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> look_at_queue(SharedEntry entry, Deadline deadline);
  awaitable<Result<Answer>> watch_last(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> wait_for_last(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> first_in_line(SharedEntry entry, Answer folder, Deadline deadline);
  awaitable<Result<Answer>> watch_leases(SharedEntry entry, Deadline deadline);
  Result<Room> room_for(const Claim& claim, const std::vector<Seen>& taken, const Ghosts& ghosts) const;
  Result<void> check_fits(const Entry& entry) const;
  std::size_t path_bytes_of(const Claim& claim) const;
  awaitable<Result<ClaimState>> first_for_permits(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> wait_for_permits(SharedEntry entry, Waiting waiting, Deadline deadline);
  awaitable<Result<ClaimState>> take_permits(SharedEntry entry, Room room, Deadline deadline);
  awaitable<Result<ClaimState>> permits_taken(SharedEntry entry, Deadline deadline);
  awaitable<Result<void>> enter_reign(SharedEntry entry, Deadline deadline);
  awaitable<Result<ClaimState>> take(SharedEntry entry, Answer folder, Ghosts ghosts, Deadline deadline);
  awaitable<Result<ClaimState>> not_yet(SharedEntry entry, Waiting waiting, Deadline deadline);
  awaitable<Result<Ghosts>> ghosts(SharedLink link, LockKey key, std::vector<Seen> alive, Deadline deadline);
  void remember(const Ghosts& in_our_way);
  static awaitable<Result<Ghosts>> sweep(SharedLink link, Ghosts over, Deadline deadline);
  awaitable<Result<void>> recognize_all(SharedEntry entry, Deadline deadline);
  awaitable<Result<Withdrawn>> leave(SharedEntry entry, Ending ending, Deadline deadline);
  awaitable<Result<void>> become_reader(SharedEntry entry, Deadline deadline);
  std::vector<Part> parting(const Entry& entry, Ending ending) const;

  awaitable<Result<std::vector<SeenLock>>> see_all(SharedLink link, std::vector<LockKey> keys,
                                                   Deadline deadline) override;
  void add_to(SeenLock& lock, Seen seen, Kind kind, bool is_lease) const;
  awaitable<Result<std::vector<Duration>>> shut_for(SharedLink link, std::vector<LockKey> keys,
                                                    std::vector<SeenLock> nodes, Deadline deadline) override;
  std::vector<Kind> kinds() const override { return {Kind::mutex, Kind::rw, Kind::permits, Kind::election}; }

  /// Ghosts that are laid in one transaction.
  static constexpr std::size_t most_swept = 50;

  /// Those in whose queue everybody waits for the one before it, and holds alone.
  static bool has_tickets(Kind kind) { return kind == Kind::mutex || kind == Kind::election; }

  std::map<std::string, base::Time> ghosts_seen_;  // by path, when we first had to wait for them
  std::set<std::string> crowded_;                  // queues in which we had to wait, the last time
};

}  // namespace pawl::store::zookeeper
