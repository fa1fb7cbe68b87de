#include "store/file/connection.hpp"

#include "base/lock_name.hpp"

#include <chrono>
#include <utility>

namespace pawl::store::file {

namespace {

/// Files that are made anew while `rm -r` is at work would be deleted as well, one by one.
constexpr Duration for_a_deletion = std::chrono::milliseconds(500);

}  // namespace

void Connection::attach(std::function<void()> sessions_in_doubt) {
  if (sessions_in_doubt) {
    sessions_in_doubt_ = std::make_shared<const std::function<void()>>(std::move(sessions_in_doubt));
  }
}

awaitable<Result<void>> Connection::connect(Deadline deadline) {
  if (environment_ && !leave_if_gone()) co_return Result<void>();
  const auto opened = std::make_shared<std::shared_ptr<Environment>>();
  const Blocking work = [opened, options = options_, &runtime = runtime_, deadline,
                         not_before = not_before_]() -> Result<void> {
    if (runtime.now() < not_before) return Error{Errc::busy, "the store's folder was just deleted or moved"};
    Result<std::shared_ptr<Environment>> environment = Environment::open(options, runtime, deadline);
    if (!environment) return environment.error();
    *opened = std::move(*environment);
    return {};
  };
  Result<void> done = co_await block(runtime_, options_.path, work, deadline);
  if (!done) co_return done.error();
  if (environment_) co_return Result<void>();  // somebody else was faster
  Result<std::shared_ptr<Listener>> listener = (*opened)->listener(runtime_);
  if (!listener) co_return listener.error();
  environment_ = *opened;
  listener_ = std::move(*listener);
  listener_->when_gone(sessions_in_doubt_);
  store_id_ = environment_->store_id();
  co_return Result<void>();
}

bool Connection::leave_if_gone() {
  if (!environment_ || !environment_->gone(true)) return !environment_;
  leave(*environment_);
  return true;
}

void Connection::leave(const Environment& gone_one) {
  if (environment_.get() != &gone_one) return;
  not_before_ = base::after(runtime_.now(), for_a_deletion);
  listener_.reset();
  environment_.reset();
}

Error Connection::gone() const {
  return {Errc::lost, "the store's folder \"" + base::printable(options_.path) + "\" was deleted or moved"};
}

}  // namespace pawl::store::file
