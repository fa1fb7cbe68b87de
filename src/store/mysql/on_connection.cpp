#include "store/mysql/on_connection.hpp"

#include "store/mysql/answers.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

namespace pawl::store::mysql {

namespace {

/// That it has got the lock is told within this process, and by no renewal.
constexpr Duration longest_silence = std::chrono::seconds(5);

}  // namespace

/// A claim() or withdraw() has the seat for itself.
struct OnConnection::Busy {
  explicit Busy(SharedSeat of) : seat(std::move(of)) { seat->busy = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    seat->busy = false;
    seat->changed.notify();
  }
  const SharedSeat seat;
};

namespace {

Capabilities with_most_held(Capabilities capabilities, std::size_t most) {
  capabilities.most_held = most;
  return capabilities;
}

}  // namespace

OnConnection::OnConnection(std::shared_ptr<Server> server, std::shared_ptr<Pool> pool, const Capabilities& capabilities)
    : Taken(std::move(server)),
      pool_(std::move(pool)),
      capabilities_(with_most_held(capabilities, server_->config().most_held)) {}

Result<OnConnection::SharedSeat> OnConnection::seat_of(const Claim& claim) {
  const auto found = seats_.find(claim.id);
  if (found != seats_.end() && !found->second->over) return found->second;
  if (found != seats_.end()) free_seat(claim.id);
  const std::size_t most = server_->config().most_held;
  if (pool_->in_use >= most) {
    return Error{Errc::overloaded, "all " + std::to_string(most) +
                                       " connections for holds and waiters are in use: this scheme needs one for each; "
                                       "connections= in the URL allows more"};
  }
  SharedSeat seat = take_idle();
  if (!seat) seat = make_seat();
  seat->claim = claim.id;
  seat->session = claim.session;
  seat->lock = claim.key.name.bytes();
  seats_.emplace(claim.id, seat);
  ++pool_->in_use;
  return seat;
}

/// Null: none of this scheme is idle. Then one of another scheme gives its place up, if there is no room beside it.
OnConnection::SharedSeat OnConnection::take_idle() {
  auto& idle = pool_->idle;
  std::erase_if(idle, [](const Pool::Idle& one) { return one.seat->over; });
  auto found = std::find_if(idle.rbegin(), idle.rend(), [this](const Pool::Idle& one) { return one.scheme == this; });
  if (found != idle.rend()) {
    SharedSeat seat = std::move(found->seat);
    idle.erase(std::next(found).base());
    return seat;
  }
  if (!idle.empty() && pool_->in_use + idle.size() >= server_->config().most_held) {
    idle.front().seat->connection->stop();
    idle.erase(idle.begin());
  }
  return nullptr;
}

OnConnection::SharedSeat OnConnection::make_seat() {
  SharedSeat seat = std::make_shared<Seat>(server_->runtime());
  const std::weak_ptr<Seat> weak = seat;
  const std::weak_ptr<Server> server = server_;
  seat->connection = server_->make_own_connection(longest_wait, [weak, server](const Error&) {
    const SharedSeat lost = weak.lock();
    const auto teller = server.lock();
    if (!lost || !teller || std::exchange(lost->over, true)) return;
    Notice notice;
    notice.what = lost->has_lock ? Notice::What::gone : Notice::What::look_again;
    teller->tell(lost->claim, notice);
  });
  return seat;
}

/// Null: the claim has none.
OnConnection::SharedSeat OnConnection::free_seat(ClaimId claim) {
  const auto found = seats_.find(claim);
  if (found == seats_.end()) return nullptr;
  SharedSeat seat = std::move(found->second);
  seats_.erase(found);
  --pool_->in_use;
  return seat;
}

// A claim may come twice at a time, when the first one was not answered in time.
awaitable<Result<void>> OnConnection::until_not_busy(SharedSeat seat, Deadline deadline) {
  const auto server = server_;
  while (seat->busy) {
    if (deadline.passed(server->runtime().now())) co_return Error{Errc::store_unavailable, "its connection is in use"};
    co_await seat->changed.wait(deadline.at);
  }
  co_return Result<void>();
}

// A client whose release is under way must not find the lock taken by itself: two connections have no order.
awaitable<Result<void>> OnConnection::until_left(std::string lock, Deadline deadline) {
  const auto server = server_;
  for (;;) {
    SharedSeat leaving;
    for (const auto& [claim, seat] : seats_) {
      if (seat->leaves && seat->lock == lock) leaving = seat;
    }
    if (!leaving) co_return Result<void>();
    if (deadline.passed(server->runtime().now())) {
      co_return Error{Errc::store_unavailable, "its release by this client is under way"};
    }
    co_await leaving->changed.wait(deadline.at);
  }
}

awaitable<Result<ClaimState>> OnConnection::claim(Claim claim, Deadline deadline) {
  if (auto mutex = check_mutex(claim); !mutex) co_return mutex.error();
  Result<void> left = co_await until_left(claim.key.name.bytes(), deadline);
  if (!left) co_return left.error();
  Result<SharedSeat> found = seat_of(claim);
  if (!found) co_return found.error();
  const SharedSeat seat = *found;
  Result<void> free = co_await until_not_busy(seat, deadline);
  if (!free) co_return free.error();
  const Busy busy(seat);
  if (seat->over || seat->claim != claim.id) co_return Error{Errc::store_unavailable, "its connection is gone"};
  Result<ClaimState> state = co_await try_once(seat, claim, deadline);
  const bool keeps_waiting = !state && seat->waits && may_pass(state.code());
  if (!state && !keeps_waiting) break_off(claim.id);
  if (!state || std::holds_alternative<Granted>(*state)) co_return state;
  Duration& look_again_in = std::get<Waiting>(*state).look_again_in;
  look_again_in = std::min<Duration>(look_again_in, longest_silence);
  if (!claim.may_queue) {
    give_back(claim.id);
  } else if (!seat->waits && !seat->has_lock && !seat->over) {
    seat->waits = true;
    base::spawn(server_->runtime(), wait_in_line(server_, seat, wait_for(claim)));
  }
  co_return state;
}

awaitable<Result<ClaimState>> OnConnection::try_once(SharedSeat seat, Claim claim, Deadline deadline) {
  if (seat->waits) {
    Result<ClaimState> state = co_await record(claim, false, "", deadline);
    const bool waits = seat->waits || seat->over;
    if (!state || waits) co_return state;
  }
  Result<void> ready = co_await make_ready(seat, claim.lease, deadline);
  if (!ready) co_return ready.error();
  Result<ClaimState> state = co_await take(seat, claim, deadline);
  if (state) seat->has_lock = std::holds_alternative<Granted>(*state);
  co_return state;
}

awaitable<Result<void>> OnConnection::make_ready(SharedSeat seat, Duration lease, Deadline deadline) {
  Result<void> up = co_await seat->connection->ready(deadline);
  if (!up) co_return up;
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(lease).count();
  if (seat->idle_seconds == seconds) co_return Result<void>();
  // A client that has stopped is noticed by the server.
  Statement setting("SET SESSION wait_timeout = " + std::to_string(seconds) + settings());
  Result<std::vector<Row>> set = co_await ask(seat, std::move(setting), deadline);
  if (!set) co_return set.error();
  seat->idle_seconds = seconds;
  co_return Result<void>();
}

awaitable<void> OnConnection::wait_in_line(std::weak_ptr<Server> weak, SharedSeat seat, Statement statement) {
  bool got = false;
  while (!got && !seat->over) {
    Statement again = statement;
    Result<Answer> answer = co_await seat->connection->call(std::move(again), Deadline::never(), Turn::in_order);
    const bool in_vain = answer && rolled_back(answer->refused);
    const bool answered = answer && answer->refused == 0 && answer->rows.size() == 1;
    if (!answered && !in_vain) seat->over = true;
    got = answered && answer->rows[0][0] == "1";
  }
  if (seat->over) seat->connection->stop();
  seat->waits = false;
  seat->has_lock = got;
  const auto server = weak.lock();
  if (server) server->tell(seat->claim, Notice());
}

awaitable<Result<std::vector<Row>>> OnConnection::ask(SharedSeat seat, Statement statement, Deadline deadline) {
  Result<Answer> answer = co_await seat->connection->call(std::move(statement), deadline, Turn::in_order);
  if (!answer) co_return answer.error();
  if (answer->refused != 0) co_return error_of(*answer);
  co_return std::move(answer->rows);
}

awaitable<Result<ClaimState>> OnConnection::record(Claim claim, bool got, std::string mark, Deadline deadline) {
  std::vector<std::string> words = words_to_take(claim);
  words.emplace_back(got ? "1" : "0");
  words.push_back(std::move(mark));
  Result<std::vector<Row>> rows = co_await server_->run("record", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return state_of(*rows, claim);
}

awaitable<Result<Withdrawn>> OnConnection::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const auto found = seats_.find(claim.id);
  const SharedSeat seat = found != seats_.end() ? found->second : nullptr;
  if (!seat) co_return co_await withdraw_record(claim, how, deadline);
  Result<void> free = co_await until_not_busy(seat, deadline);
  if (!free) co_return free.error();
  if (seat->over || !seat->has_lock || seat->claim != claim.id) {
    break_off(claim.id);
    co_return co_await withdraw_record(claim, how, deadline);
  }
  const Busy busy(seat);
  seat->leaves = true;
  Result<Withdrawn> done = co_await let_go(seat, claim, how, deadline);
  if (done) {
    give_back(claim.id);
  } else {
    break_off(claim.id);
  }
  co_return done;
}

awaitable<Result<Standing>> OnConnection::look(Claim claim, Deadline deadline) {
  const auto found = seats_.find(claim.id);
  const bool lives = found != seats_.end() && !found->second->over && found->second->has_lock;
  if (!lives) co_return Standing();
  co_return co_await Taken::look(claim, deadline);
}

void OnConnection::unwatch(ClaimId claim) {
  break_off(claim);
  Taken::unwatch(claim);
}

// Nothing is locked on it any more: the next claim can have it.
void OnConnection::give_back(ClaimId claim) {
  const SharedSeat seat = free_seat(claim);
  if (!seat) return;
  seat->claim = {};
  seat->has_lock = seat->leaves = false;
  if (seat->over) {
    seat->connection->stop();
  } else {
    pool_->idle.push_back({this, seat});
  }
}

void OnConnection::break_off(ClaimId claim) {
  const SharedSeat seat = free_seat(claim);
  if (!seat) return;
  seat->over = true;
  seat->connection->stop();
}

void OnConnection::end_session(SessionId session) {
  const auto seats = seats_;
  for (const auto& [claim, seat] : seats) {
    if (seat->session == session) break_off(claim);
  }
}

struct OnConnection::Heard {
  explicit Heard(base::Runtime& runtime) : changed(runtime) {}
  std::size_t awaited = 0;
  bool all = true;
  base::Gathering changed;
};

awaitable<void> OnConnection::hear_of(SharedSeat seat, Deadline deadline, std::shared_ptr<Heard> heard) {
  Statement word("SELECT 1", {});
  Result<std::vector<Row>> answer = co_await ask(seat, std::move(word), deadline);
  if (!answer && !seat->over) heard->all = false;
  --heard->awaited;
  heard->changed.notify();
}

awaitable<Result<std::vector<ClaimId>>> OnConnection::touch(SessionId session, Deadline deadline) {
  const auto server = server_;
  const auto heard = std::make_shared<Heard>(server->runtime());
  std::map<ClaimId, SharedSeat> touched;
  for (const auto& [claim, seat] : seats_) {
    if (seat->session == session && seat->has_lock) touched.emplace(claim, seat);
  }
  for (const auto& [claim, seat] : touched) {
    if (seat->over) continue;
    ++heard->awaited;
    base::spawn(server->runtime(), hear_of(seat, deadline, heard));
  }
  while (heard->awaited > 0) co_await heard->changed.wait(base::Time::max());
  if (!heard->all) co_return Error{Errc::store_unavailable, "the connection of a hold does not answer"};
  std::vector<ClaimId> gone;
  for (const auto& [claim, seat] : touched) {
    if (seat->over) gone.push_back(claim);
  }
  co_return gone;
}

}  // namespace pawl::store::mysql
