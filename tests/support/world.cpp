#include "tests/support/world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::scene {

namespace {

/// For one answer, where all are given.
constexpr Duration patience = 20s;

awaitable<bool> end_sessions(std::shared_ptr<FaultyStore> store) {
  co_await store->expire_sessions();
  co_return true;
}

void calm(ScriptedFaults& faults) {
  faults.heal();
  faults.refuse(false);
  faults.drop_replies(false);
  faults.drop_notices(false);
  faults.delay_all(Duration::zero());
  faults.duplicate(false);
}

std::string describe(const std::vector<LockView>& views) {
  std::string text;
  for (const LockView& view : views) {
    if (view.holders.empty() && view.waiters.empty()) continue;  // shut by a lock-delay
    text += fmt::format("lock \"{}\": {} holders, {} waiters\n", base::printable(view.name), view.holders.size(),
                        view.waiters.size());
  }
  return text;
}

}  // namespace

Actor World::client(ClientOptions options) {
  if (options.scheme.empty()) options.scheme = scheme_;
  if (!options.timeout) options.timeout = virtual_time() ? timeout() : std::max<Duration>(timeout(), patience);
  if (!options.lease) options.lease = std::max<Duration>(lease(), 30s);
  Runtime& home = new_home();
  auto faults = std::make_shared<ScriptedFaults>();
  auto store = std::make_shared<FaultyStore>(open_store(home), home, faults, network_of(home));
  auto core = lock::ClientCore::make(home, store, options).value();
  const Actor& actor = clients_.emplace_back(*this, std::move(core), std::move(store), std::move(faults));
  // A busy machine may need more than one try; what a test wants to see of time begins later.
  constexpr int tries = 20;
  Result<void> connected = await(actor, actor.core()->connect());
  for (int i = 1; i < tries && connected.code() == Errc::store_unavailable; ++i) {
    connected = await(actor, actor.core()->connect());
  }
  connected.value();
  return actor;
}

Actor World::impatient_client(ClientOptions options) {
  if (!options.timeout) options.timeout = timeout();
  return client(std::move(options));
}

Actor World::brief_client(ClientOptions options) {
  if (!options.lease) options.lease = lease();
  // A request has a third of the lease. To open a session may take longer, and need another try.
  if (!options.timeout && !virtual_time()) options.timeout = 2 * lease();
  return impatient_client(std::move(options));
}

const store::Capabilities& World::capabilities() { return bystander().store().scheme(scheme_)->capabilities(); }

const Actor& World::bystander() {
  if (!bystander_) {
    ClientOptions options;
    options.timeout = hang() / 2;  // whatever it is asked, it has the time
    bystander_ = std::make_unique<Actor>(client(std::move(options)));
    clients_.pop_back();  // it is no part of the play
  }
  return *bystander_;
}

void World::expire(const Actor& actor) {
  const std::shared_ptr<FaultyStore> store(actor.core(), &actor.store());
  await(actor, end_sessions(store));
}

LockView World::view(std::string_view name, Kind kind) { return inspect(bystander(), name, kind).value(); }

std::vector<LockView> World::views(std::string_view prefix) { return list(bystander(), prefix).value(); }

bool World::ask_until(const std::function<bool()>& so) {
  Duration pause{};  // at first only what is ready to happen
  for (Duration waited{}; !so(); waited += pause) {
    if (waited >= hang()) return false;
    sleep(pause);
    pause = std::clamp<Duration>(pause * 2, 1ms, hang() / 100);
  }
  return true;
}

bool World::queued(std::string_view name, std::size_t waiters, Kind kind) {
  return ask_until([&] { return view(name, kind).waiters.size() == waiters; });
}

void World::close_all() {
  std::vector<Started<Result<void>>> closing;
  for (const Actor& actor : clients_) calm(actor.faults());
  for (const Actor& actor : clients_) closing.push_back(start(actor, actor.core()->close(hang())));
  for (Started<Result<void>>& one : closing) {
    if (Result<void> closed = one.get(); !closed) throw std::runtime_error(closed.error().to_string());
  }
}

// A store may leave what has ended to the next client.
void World::pass_by() {
  const Actor passer_by = client();
  Hold hold = must_acquire(passer_by, "passing by");
  release(passer_by, hold).value();
  close(passer_by, hang()).value();
  clients_.pop_back();
}

std::string World::left_behind() {
  close_all();
  const auto nothing = [this] {
    if (describe(views()).empty() && leftovers().empty()) return true;
    if (!virtual_time()) pass_by();
    return false;
  };
  if (ask_until(nothing)) return {};
  return describe(views()) + leftovers();
}

void World::forget_clients() {
  clients_.clear();
  bystander_.reset();
}

}  // namespace pawl::scene
