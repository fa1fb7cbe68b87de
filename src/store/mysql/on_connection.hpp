#pragma once

#include "base/gathering.hpp"
#include "store/mysql/recorded.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl::store::mysql {

/// Schemes whose lock belongs to a connection: each hold and each waiter has one of its own, and there are so many at most.
/// The lock is freed when the connection ends, whoever ends it. The server ends it when nothing was heard on it for a lease.
///
/// | a claim's connection | claim()                          | it breaks            | withdraw()                   |
/// |----------------------|----------------------------------|----------------------|------------------------------|
/// | tries                | tries to take the lock           | the next try: anew   | is given back, or broken off |
/// | waits for the lock   | "waiting": asks nothing of it    | looks again: anew    | is broken off                |
/// | may have the lock    | records it, and it is granted    | lost; the holder hears | frees the lock, is given back |
class OnConnection : public Taken {
 protected:
  struct Seat;
  using SharedSeat = std::shared_ptr<Seat>;

 public:
  /// What all such schemes of a client share: there are connections= of them in all.
  struct Pool {
    struct Idle {
      const OnConnection* scheme;  ///< each has settings of its own
      SharedSeat seat;
    };
    std::size_t in_use = 0;
    std::vector<Idle> idle = {};
  };

  /// `capabilities` with the number of connections that the URL allows.
  OnConnection(std::shared_ptr<Server> server, std::shared_ptr<Pool> pool, const Capabilities& capabilities);

  const Capabilities& capabilities() const final { return capabilities_; }

  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) final;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) final;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) final;
  void unwatch(ClaimId claim) final;

  /// With a renewal: the connections of this session's holds are heard of. Those that are gone, or do not answer.
  awaitable<Result<std::vector<ClaimId>>> touch(SessionId session, Deadline deadline);
  /// Frees what it holds.
  void end_session(SessionId session);

 protected:
  /// A claim's connection.
  struct Seat {
    explicit Seat(base::Runtime& runtime) : changed(runtime) {}
    std::shared_ptr<Connection> connection = {};
    ClaimId claim = {};  ///< whose it is now
    SessionId session = {};
    std::string lock = {};
    std::int64_t idle_seconds = 0;  ///< after which the server ends it, as it was told
    std::string mark = {};          ///< names a user lock that it has as long as it lives
    bool busy = false;              ///< a claim() or withdraw() is using it
    bool waits = false;             ///< a statement waits for the lock
    bool has_lock = false;
    bool leaves = false;  ///< a withdraw() frees the lock
    bool over = false;    ///< its connection is gone, or given up
    base::Gathering changed;
  };
  /// How long one statement waits for a lock; then it asks again.
  static constexpr Duration longest_wait = std::chrono::seconds(2);

  /// Tries to take the lock, and records the outcome.
  virtual awaitable<Result<ClaimState>> take(SharedSeat seat, Claim claim, Deadline deadline) = 0;
  /// Behind "SET SESSION wait_timeout = ...".
  virtual std::string settings() const { return {}; }
  /// What waits for the lock, for longest_wait at most, and answers with 1 when it has it.
  virtual Statement wait_for(const Claim& claim) const = 0;
  /// Takes the record away, and frees the lock.
  virtual awaitable<Result<Withdrawn>> let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) = 0;

  /// By the connection for statements. `got`: the claim's own connection, of which `mark` tells whether it lives, has the
  /// lock.
  awaitable<Result<ClaimState>> record(Claim claim, bool got, std::string mark, Deadline deadline);
  static awaitable<Result<std::vector<Row>>> ask(SharedSeat seat, Statement statement, Deadline deadline);

 private:
  struct Busy;
  Result<SharedSeat> seat_of(const Claim& claim);
  SharedSeat take_idle();
  SharedSeat make_seat();
  SharedSeat free_seat(ClaimId claim);
  awaitable<Result<void>> make_ready(SharedSeat seat, Duration lease, Deadline deadline);
  awaitable<Result<ClaimState>> try_once(SharedSeat seat, Claim claim, Deadline deadline);
  static awaitable<void> wait_in_line(std::weak_ptr<Server> weak, SharedSeat seat, Statement statement);
  struct Heard;
  static awaitable<void> hear_of(SharedSeat seat, Deadline deadline, std::shared_ptr<Heard> heard);
  awaitable<Result<void>> until_not_busy(SharedSeat seat, Deadline deadline);
  awaitable<Result<void>> until_left(std::string lock, Deadline deadline);
  void give_back(ClaimId claim);
  void break_off(ClaimId claim);

  const std::shared_ptr<Pool> pool_;
  const Capabilities capabilities_;
  std::map<ClaimId, SharedSeat> seats_ = {};
};

}  // namespace pawl::store::mysql
