#include "store/memory/memory_store.hpp"

#include "fencing/epoch.hpp"

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
  co_return SessionGrant{id, lease};
}

awaitable<Result<Renewal>> MemoryStore::renew(SessionId session, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.sessions().renew(session, visit.now());
}

awaitable<Result<void>> MemoryStore::close_session(SessionId session, Deadline) {
  Visit visit(*state_, runtime_);
  visit.close_session(session);
  co_return Result<void>();
}

Scheme* MemoryStore::scheme(std::string_view name) {
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

namespace {

std::shared_ptr<MemoryState> make_state(base::Runtime& runtime, std::uint64_t epoch) {
  const auto random = [&runtime] { return runtime.random(); };
  return std::make_shared<MemoryState>(MemoryState::Clock(), random, epoch);
}

}  // namespace

std::shared_ptr<MemoryState> private_state(base::Runtime& runtime) {
  return make_state(runtime, runtime.unix_milliseconds());
}

std::shared_ptr<MemoryState> shared_state(std::string_view name, base::Runtime& runtime) {
  static std::mutex mutex;  // guards both
  static std::map<std::string, std::weak_ptr<MemoryState>, std::less<>> states;
  static std::uint64_t last_epoch = 0;

  std::lock_guard lock(mutex);
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
