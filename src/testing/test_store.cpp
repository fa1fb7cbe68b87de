#include <pawl/testing.hpp>

#include "base/manual_clock.hpp"
#include "base/real_runtime.hpp"
#include "lock/access.hpp"
#include "lock/client_core.hpp"
#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

namespace {

using base::awaitable;
using base::Deadline;
using base::Time;
using lock::Access;
using lock::ClientCore;
using store::LockKey;
using store::memory::MemoryState;
using store::memory::MemoryStore;

/// A runtime with its own clock. Handles may outlive their TestStore, so it is never destroyed: the next one uses it.
struct Laboratory {
  base::ManualClock clock;
  base::RealRuntime runtime{clock};
};

class Laboratories {
 public:
  Laboratory* borrow() {
    const std::lock_guard lock(mutex_);
    while (!free_.empty()) {
      Laboratory* const last = free_.back();
      free_.pop_back();
      if (!last->runtime.inert()) return last;  // else it is the parent's, before fork()
    }
    return all_.emplace_back(new Laboratory);
  }
  void give_back(Laboratory* laboratory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(laboratory);
  }

 private:
  std::mutex mutex_;  // guards the two below
  std::vector<Laboratory*> all_;
  std::vector<Laboratory*> free_;
};

Laboratories& laboratories() {
  static auto* const all = new Laboratories;
  return *all;
}

LockKey key_of(std::string_view name, Kind kind) {
  return {kind, base::LockName::make(name).value()};  // throws
}

awaitable<Result<void>> revoke_all(store::Scheme& scheme, LockKey key, bool now) {
  Result<LockView> view = co_await scheme.inspect(key, Deadline::never());
  if (!view) co_return view.error();
  for (const ClaimView& holder : view->holders) {
    store::ClaimId id;
    base::parse_hex(holder.claim, id.high, id.low);
    Result<bool> revoked = co_await scheme.revoke(key, id, now, Deadline::never());
    if (!revoked) co_return revoked.error();
  }
  co_return Result<void>();
}

awaitable<Result<void>> call(std::function<void()> work) {
  work();
  co_return Result<void>();
}

}  // namespace

class TestStore::Impl {
 public:
  Impl()
      : laboratory_(*laboratories().borrow()),
        state_(store::memory::private_state(runtime())),
        own_(std::make_shared<MemoryStore>(state_, runtime())) {}

  ~Impl() {
    if (!runtime().may_block()) return;  // inside a callback: it can neither wait nor give its laboratory back
    for (const auto& weak : clients_) {
      const auto client = weak.lock();
      if (client) [[maybe_unused]]
        auto closed = runtime().block_on(client->close(std::chrono::seconds(5)));
    }
    settle();
    do_now([this] { own_.reset(); });  // a store ends on the executor, where it has lived
    laboratories().give_back(&laboratory_);
  }

  base::RealRuntime& runtime() { return laboratory_.runtime; }
  void settle() {
    if (!runtime().may_block())
      throw Exception(Error{Errc::would_deadlock, "time moves inside one of pawl's callbacks"});
    runtime().settle();
  }

  /// On the executor.
  void do_now(std::function<void()> work) {
    runtime().block_on(call(std::move(work))).value();
    settle();
  }

  Client client(const ClientOptions& options) {
    const auto store = std::make_shared<MemoryStore>(state_, runtime());
    std::shared_ptr<ClientCore> core = ClientCore::make(runtime(), store, options).value();
    clients_.push_back(core);
    return Access::make<Client>(lock::make_handle(std::move(core)));
  }

  void expire(const Client& client) {
    const auto store = std::dynamic_pointer_cast<MemoryStore>(Access::core(client)->context().store);
    const auto ours = std::find_if(clients_.begin(), clients_.end(), [&](const auto& weak) {
      const auto core = weak.lock();
      return core && core->context().store == store;
    });
    if (ours == clients_.end()) throw Exception(Error{Errc::invalid_argument, "this client is another store's"});
    do_now([&] { store->expire_sessions(); });
  }

  void advance(Duration time) {
    base::ManualClock& clock = laboratory_.clock;
    const Time until = base::after(clock.now(), time);
    settle();
    for (Time next = clock.next(); next <= until; next = clock.next()) {
      clock.move_to(next);
      settle();
    }
    clock.move_to(until);
    settle();
  }

  void revoke(std::string_view name, Kind kind, bool now) {
    runtime().block_on(revoke_all(*own_->scheme({}), key_of(name, kind), now)).value();
    settle();
  }

  void delay_grants(std::string_view name, Kind kind, Duration time) {
    const LockKey key = key_of(name, kind);
    do_now([&] {
      MemoryState::Visit visit(*state_, runtime());
      visit.queue().bar(key, base::after(visit.now(), time), visit.now());
    });
  }

 private:
  Laboratory& laboratory_;
  const std::shared_ptr<MemoryState> state_;
  std::shared_ptr<MemoryStore> own_;
  std::vector<std::weak_ptr<ClientCore>> clients_;
};

TestStore::TestStore() : impl_(std::make_unique<Impl>()) {}
TestStore::~TestStore() = default;
Client TestStore::client(ClientOptions options) { return impl_->client(options); }
void TestStore::advance(Duration time) { impl_->advance(time); }
void TestStore::expire(const Client& client) { impl_->expire(client); }
void TestStore::lose(std::string_view name, Kind kind) { impl_->revoke(name, kind, true); }
void TestStore::ask_to_release(std::string_view name, Kind kind) { impl_->revoke(name, kind, false); }
void TestStore::delay_grants(std::string_view name, Duration time, Kind kind) { impl_->delay_grants(name, kind, time); }

}  // namespace pawl
