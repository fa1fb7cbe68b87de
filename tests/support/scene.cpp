#include "tests/support/scene.hpp"

#include "tests/support/world.hpp"

#include <string>
#include <utility>

namespace pawl::scene {

namespace {

/// Text in the options lives until the call returns; a thread may begin later.
StartedHold start_acquire_blocking(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex,
                                   AcquireOptions options, std::stop_token stop, const lock::Wanted& wanted) {
  const std::string label(options.label);
  return start_blocking<Result<Hold>>(actor, [mutex, options, label, stop = std::move(stop), wanted]() mutable {
    options.label = label;
    return mutex->acquire_blocking(options, std::move(stop), wanted);
  });
}

/// By the blocking form where the world is such.
template <class T>
Result<T> ask(const Actor& actor, awaitable<Result<T>> question) {
  if (actor.world().blocking()) return actor.runtime().block_on(std::move(question));
  return await(actor, std::move(question));
}

}  // namespace

awaitable<bool> nothing() { co_return true; }

StartedHold start_acquire(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex, AcquireOptions options,
                          std::stop_token stop, const lock::Wanted& wanted) {
  if (actor.world().blocking()) return start_acquire_blocking(actor, mutex, options, std::move(stop), wanted);
  return start(actor, mutex->acquire(options, std::move(stop), wanted));
}

StartedHold start_acquire_in_order(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex,
                                   AcquireOptions options, const lock::Wanted& wanted) {
  return start(actor, mutex->acquire(options, std::stop_token(), wanted));
}

StartedHold start_acquire(const Actor& actor, std::string_view name, AcquireOptions options, std::stop_token stop) {
  return start_acquire(actor, actor.mutex(name), options, std::move(stop));
}

Result<Hold> acquire(const Actor& actor, std::string_view name, AcquireOptions options, std::stop_token stop) {
  return start_acquire(actor, name, options, std::move(stop)).get();
}

Result<Hold> try_acquire(const Actor& actor, std::string_view name, AcquireOptions options) {
  options.wait = Duration::zero();
  return acquire(actor, name, options);
}

Hold must_acquire(const Actor& actor, std::string_view name, AcquireOptions options) {
  // As with connecting: a busy machine may need more than one try to open a session.
  constexpr int tries = 20;
  Result<Hold> hold = acquire(actor, name, options);
  for (int i = 1; i < tries && hold.code() == Errc::store_unavailable && !actor.world().virtual_time(); ++i) {
    hold = acquire(actor, name, options);
  }
  return std::move(hold).value();
}

Started<Result<void>> start_release(const Actor& actor, Hold& hold) {
  if (!actor.world().blocking()) return start_release_in_order(actor, hold);
  const std::shared_ptr<lock::HoldCore> core = lock::HoldCore::behind(hold);
  await(actor, nothing());  // a thread that lets go need not wait for what is about to begin on the executor
  return start_blocking<Result<void>>(actor, [core] { return core->release_blocking(); });
}

Started<Result<void>> start_release_in_order(const Actor& actor, Hold& hold) {
  return start(actor, lock::HoldCore::behind(hold)->release());
}

Result<void> release(const Actor& actor, Hold& hold) { return start_release(actor, hold).get(); }

Result<void> check(const Actor& actor, const Sequencer& sequencer) {
  return ask(actor, actor.core()->check(sequencer));
}

Result<void> downgrade(const Actor& actor, Hold& hold) {
  if (actor.world().blocking()) return lock::HoldCore::behind(hold)->downgrade_blocking();
  return await(actor, lock::HoldCore::behind(hold)->downgrade());
}

Result<LockView> inspect(const Actor& actor, std::string_view name, Kind kind) {
  return ask(actor, actor.core()->inspect(std::string(name), kind));
}

Result<std::vector<LockView>> list(const Actor& actor, std::string_view prefix) {
  return ask(actor, actor.core()->list(std::string(prefix)));
}

Result<void> revoke(const Actor& actor, std::string_view name, RevokeOptions options) {
  return ask(actor, actor.core()->revoke(std::string(name), std::string(options.claim), options.now, Kind::mutex));
}

Result<void> close(const Actor& actor, std::optional<Duration> within) {
  return ask(actor, actor.core()->close(within.value_or(actor.world().hang())));
}

}  // namespace pawl::scene
