#include "tests/support/scene.hpp"

#include "tests/support/world.hpp"

#include <string>

namespace pawl::scene {

StartedHold start_acquire(const Actor& actor, const std::shared_ptr<lock::LockCore>& mutex, AcquireOptions options,
                          std::stop_token stop, const lock::Wanted& wanted) {
  return start(actor, mutex->acquire(options, std::move(stop), wanted));
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
  return acquire(actor, name, options).value();
}

Started<Result<void>> start_release(const Actor& actor, Hold& hold) {
  return start(actor, lock::HoldCore::behind(hold)->release());
}

Result<void> release(const Actor& actor, Hold& hold) { return start_release(actor, hold).get(); }

Result<void> check(const Actor& actor, const Sequencer& sequencer) {
  return await(actor, actor.core()->check(sequencer));
}

Result<void> downgrade(const Actor& actor, Hold& hold) {
  return await(actor, lock::HoldCore::behind(hold)->downgrade());
}

Result<LockView> inspect(const Actor& actor, std::string_view name, Kind kind) {
  return await(actor, actor.core()->inspect(std::string(name), kind));
}

Result<std::vector<LockView>> list(const Actor& actor, std::string_view prefix) {
  return await(actor, actor.core()->list(std::string(prefix)));
}

Result<void> revoke(const Actor& actor, std::string_view name, RevokeOptions options) {
  return await(actor, actor.core()->revoke(std::string(name), std::string(options.claim), options.now, Kind::mutex));
}

Result<void> close(const Actor& actor, Duration within) { return await(actor, actor.core()->close(within)); }

}  // namespace pawl::scene
