#include "apps/cli/torture/worker.hpp"

#include "apps/cli/torture/chance.hpp"
#include "apps/cli/torture/diary.hpp"
#include "apps/cli/torture/guarded.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::torture {

using namespace std::chrono_literals;

namespace {

/// How long a waiter may take when all is well again: a hang guard.
constexpr auto longest_contention = 300s;

/// One thread of a worker.
class Actor {
 public:
  Actor(const Orders& orders, Client client, std::deque<Guarded>& guarded, const Diary& diary, int number)
      : orders_(orders),
        client_(std::move(client)),
        guarded_(guarded),
        diary_(diary),
        number_(number),
        chance_(orders.seed * 16 + static_cast<std::uint64_t>(number)) {
    plan_pause();
  }

  void run() {
    while (!calm()) contend(guarded_[chance_.below(guarded_.size())], chance_.pick({0ms, 100ms, 1000ms, 5000ms}));
    may_pause_ = false;
    for (Guarded& guarded : guarded_) {
      if (contend(guarded, longest_contention)) tell("again " + guarded.lock.name);
    }
  }

 private:
  bool calm() const { return std::filesystem::exists(orders_.folder.calm()); }
  void tell(const std::string& what) const { diary_.tell(turn_, what); }

  /// One turn. True: it was granted the lock, and let it go.
  bool contend(Guarded& guarded, Milliseconds wait) {
    turn_ = std::to_string(number_) + "." + std::to_string(++turns_);
    const Mode mode = guarded.lock.kind == Kind::rw && !chance_.one_in(3) ? Mode::shared : Mode::exclusive;
    tell("ask " + guarded.lock.name + " " + std::string(to_string(mode)));
    const std::uint32_t permits = chance_.one_in(3) ? 2 : 1;
    Result<Hold> hold = acquire(client_, guarded.lock, mode, permits, {.wait = wait});
    if (!hold) {
      tell("failed " + std::string(to_string(hold.code())));
      if (hold.code() != Errc::timed_out) std::this_thread::sleep_for(chance_.between(0ms, 20ms));
      return false;
    }
    tell("granted " + hold->token().to_string() + " " + slots_of(*hold));
    if (look(*hold)) use(guarded, *hold);
    return let_go(*hold);
  }

  void use(Guarded& guarded, Hold& hold) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < std::max<std::size_t>(hold.permits(), 1); ++i)
      accesses.emplace_back(guarded, hold.sequencer(i), diary_, turn_, orders_.flaw == Flaw::ignores_fence);
    for (Access& access : accesses) {
      if (!access.mark()) return;
    }
    if (!linger(hold)) return;
    if (may_pause_ && now() >= pause_at_) pause();
    // What the look said may be old by now, and is used all the same: the fence has to know.
    for (Access& access : accesses) access.finish(worker_and_turn());
  }

  /// Works for some milliseconds, or now and then for two leases; and goes on while the lease cannot be renewed and is not over.
  bool linger(Hold& hold) {
    const Milliseconds most = chance_.one_in(12) ? orders_.lease * 2 : chance_.pick({0ms, 2ms, 10ms, 30ms});
    const Nanoseconds end = now() + Nanoseconds{1'000'000} * chance_.between(0ms, most).count();
    do {
      std::this_thread::sleep_for(std::clamp<Milliseconds>(most / 10, 1ms, 10ms));
      if (!look(hold)) return false;
    } while (now() < end || hold.state() == HoldState::jeopardy);
    return true;
  }

  bool look(const Hold& hold) const {
    const Nanoseconds before = now();
    const bool valid = hold.valid() || orders_.flaw == Flaw::ignores_valid;
    if (valid) {
      diary_.tell_at(before, turn_, "valid");
    } else {
      tell("invalid");
    }
    return valid;
  }

  bool let_go(Hold& hold) {
    look(hold);  // what was lost must stay lost
    tell("release");
    if (chance_.one_in(10)) {
      const Hold dropped = std::move(hold);
      return true;
    }
    const Result<void> released = hold.release();
    tell("released " + (released ? std::string("ok") : std::string(to_string(released.code()))));
    return true;
  }

  void pause() {
    ::raise(SIGSTOP);
    plan_pause();
  }
  void plan_pause() {
    pause_at_ = now() + Nanoseconds{1'000'000} * chance_.between(orders_.lease / 4, orders_.lease * 4).count();
  }

  std::string worker_and_turn() const { return orders_.worker + "/" + turn_; }

  const Orders& orders_;
  Client client_;
  std::deque<Guarded>& guarded_;
  const Diary& diary_;
  const int number_;
  Chance chance_;
  std::string turn_ = {};
  std::uint64_t turns_ = 0;
  bool may_pause_ = true;  ///< until all is calm
  Nanoseconds pause_at_ = 0;
};

Client open_client(const Orders& orders) {
  const char* url = std::getenv("PAWL_STORE");
  return Client(url != nullptr ? url : "", {.scheme = orders.scheme,
                                            .lease = orders.lease,
                                            .timeout = 2s,
                                            .connect = Connect::lazy,
                                            .label = orders.worker});
}

}  // namespace

Result<Hold> acquire(Client& client, const LockSpec& lock, Mode mode, std::uint32_t permits, AcquireOptions options) {
  switch (lock.kind) {
    case Kind::permits: return client.semaphore(lock.name, lock.permits).acquire(permits, options);
    case Kind::rw: {
      SharedMutex mutex = client.shared_mutex(lock.name);
      return mode == Mode::shared ? mutex.acquire_shared(options) : mutex.acquire(options);
    }
    default: return client.mutex(lock.name).acquire(options);
  }
}

int work(const Orders& orders) {
  const Diary diary(orders.folder.events(orders.worker));
  const Client client = open_client(orders);
  std::deque<Guarded> guarded;
  for (const LockSpec& lock : orders.locks()) guarded.emplace_back(orders, lock);
  {
    const int count = orders.seed % 2 == 0 ? 1 : 2;
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&orders, client, &guarded, &diary, i] { Actor(orders, client, guarded, diary, i).run(); });
    }
  }
  Client last = client;
  const Result<void> closed = last.close(60s);
  diary.tell("-", "end");
  return closed ? 0 : 1;
}

}  // namespace pawl::torture
