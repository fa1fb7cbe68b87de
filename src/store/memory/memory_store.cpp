#include "store/memory/memory_store.hpp"

#include "fencing/epoch.hpp"

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace pawl::store::memory {

using Visit = MemoryState::Visit;

MemoryStore::MemoryStore(std::shared_ptr<MemoryState> state, base::Runtime& runtime)
    : state_(std::move(state)), runtime_(runtime), queue_(state_, runtime) {}

awaitable<Result<void>> MemoryStore::connect(Deadline) { co_return Result<void>(); }

awaitable<Result<SessionGrant>> MemoryStore::open_session(SessionRequest request, Deadline) {
  const Capabilities& limits = Queue::declared;
  const Duration lease = std::clamp(request.lease, limits.shortest_lease, limits.longest_lease);
  const SessionId id = runtime_.make_id<SessionId>();
  Visit visit(*state_, runtime_);
  visit.sessions().open(id, lease, request.owner, visit.now());
  opened_.insert(id);
  co_return SessionGrant{id, lease};
}

awaitable<Result<Renewal>> MemoryStore::renew(SessionId session, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.sessions().renew(session, visit.now());
}

awaitable<Result<void>> MemoryStore::close_session(SessionId session, Deadline) {
  Visit visit(*state_, runtime_);
  visit.close_session(session);
  opened_.erase(session);
  co_return Result<void>();
}

void MemoryStore::expire_sessions() {
  Visit visit(*state_, runtime_);
  for (const SessionId session : std::exchange(opened_, {})) visit.close_session(session);
}

awaitable<Result<std::uint64_t>> MemoryStore::epoch(Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().epoch();
}

awaitable<Result<std::uint64_t>> MemoryStore::raise_epoch(Deadline) {
  const std::uint64_t wall_clock = runtime_.unix_milliseconds();
  Visit visit(*state_, runtime_);
  const Result<std::uint64_t> next = fencing::next_epoch(visit.queue().epoch(), wall_clock);
  if (next) visit.queue().raise_epoch(*next);
  co_return next;
}

Scheme* MemoryStore::scheme(std::string_view name) {
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

namespace {

std::shared_ptr<MemoryState> make_state(base::Runtime& runtime, std::uint64_t epoch) {
  const auto random = [&runtime] { return runtime.random(); };
  return std::make_shared<MemoryState>(MemoryState::Clock(), random, epoch);
}

/// The states that have a name.
struct Named {
  std::mutex mutex;  // guards the rest
  std::map<std::string, std::weak_ptr<MemoryState>, std::less<>> states;
  std::uint64_t last_epoch = 0;
};

// A child of fork() begins with none: what it has of its parent's are copies that nobody keeps up, and threads that it
// does not have may have locked them.
Named& named() {
  static Named* current = new Named;
  static const int watching = ::pthread_atfork(nullptr, nullptr, [] { current = new Named; });
  (void)watching;
  return *current;
}

}  // namespace

std::shared_ptr<MemoryState> private_state(base::Runtime& runtime) {
  return make_state(runtime, runtime.unix_milliseconds());
}

std::shared_ptr<MemoryState> shared_state(std::string_view name, base::Runtime& runtime) {
  auto& [mutex, states, last_epoch] = named();
  const std::lock_guard lock(mutex);
  std::erase_if(states, [](const auto& entry) { return entry.second.expired(); });
  const auto found = states.find(name);
  if (found != states.end()) {
    if (std::shared_ptr<MemoryState> state = found->second.lock()) return state;
  }
  // A second life of a name within one millisecond, or after the wall clock went back, must not repeat tokens.
  last_epoch = fencing::next_epoch(last_epoch, runtime.unix_milliseconds()).value();
  std::shared_ptr<MemoryState> state = make_state(runtime, last_epoch);
  states.insert_or_assign(std::string(name), state);
  return state;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions&, base::Runtime& runtime) {
  if (url.has_authority) {
    return Error{Errc::invalid_argument,
                 url.redacted() + ": the memory store has no host; write memory:NAME or memory:"};
  }
  std::shared_ptr<MemoryState> state = url.path.empty() ? private_state(runtime) : shared_state(url.path, runtime);
  return std::make_shared<MemoryStore>(std::move(state), runtime);
}

}  // namespace pawl::store::memory
