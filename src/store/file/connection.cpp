#include "store/file/connection.hpp"

#include "base/lock_name.hpp"

namespace pawl::store::file {

awaitable<Result<void>> Connection::connect(Deadline deadline) {
  if (environment_ && !leave_if_gone()) co_return Result<void>();
  const auto opened = std::make_shared<std::shared_ptr<Environment>>();
  const Blocking work = [opened, options = options_, &runtime = runtime_, deadline]() -> Result<void> {
    Result<std::shared_ptr<Environment>> environment = Environment::open(options, runtime, deadline);
    if (!environment) return environment.error();
    *opened = std::move(*environment);
    return {};
  };
  Result<void> done = co_await block(runtime_, work, deadline);
  if (!done) co_return done.error();
  if (environment_) co_return Result<void>();  // somebody else was faster
  Result<std::shared_ptr<Listener>> listener = (*opened)->listener(runtime_);
  if (!listener) co_return listener.error();
  environment_ = *opened;
  listener_ = std::move(*listener);
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
  listener_.reset();
  environment_.reset();
}

Error Connection::gone() const {
  return {Errc::lost, "the store's folder \"" + base::printable(options_.path) + "\" was deleted or moved"};
}

}  // namespace pawl::store::file
