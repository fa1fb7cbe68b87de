#include "lock/client_core.hpp"

#include "base/escaped.hpp"
#include "base/host.hpp"
#include "base/ids.hpp"
#include "base/planted.hpp"
#include "lock/lock_core.hpp"

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::lock {

namespace {

constexpr Duration last_words = std::chrono::seconds(2);
constexpr Duration longest_timeout = std::chrono::hours(24 * 365);  // multiples of it must fit into a Duration
constexpr std::size_t most_mixed = 1000;

std::string known_schemes(const store::Store& store) {
  std::string names;
  for (const store::Capabilities* scheme : store.schemes()) {
    if (!names.empty()) names += ", ";
    names += scheme->scheme;
  }
  return names;
}

local::PassBounds make_bounds(const LockOptions& options) {
  local::PassBounds bounds;
  if (options.local_passes) bounds.passes = *options.local_passes;
  if (options.local_pass_time) bounds.time = *options.local_pass_time;
  return bounds;
}

}  // namespace

ClientCore::ClientCore(std::shared_ptr<session::Context> context, store::Scheme& scheme, Defaults defaults)
    : context_(std::move(context)),
      keeper_(std::make_shared<session::Keeper>(context_)),
      scheme_(scheme),
      defaults_(std::move(defaults)) {}

Result<std::shared_ptr<ClientCore>> ClientCore::make(Runtime& runtime, std::shared_ptr<store::Store> store,
                                                     const ClientOptions& options) {
  store::Scheme* scheme = store->scheme(options.scheme);
  if (scheme == nullptr) {
    return Error{Errc::invalid_argument, fmt::format("unknown scheme \"{}\"; this store has: {}",
                                                     base::printable(options.scheme), known_schemes(*store))};
  }
  Duration timeout = options.timeout.value_or(default_timeout);
  if (timeout <= Duration::zero()) return Error{Errc::invalid_argument, "timeout must be above 0"};
  timeout = std::min(timeout, longest_timeout);
  const Defaults defaults{options.lease, options.lock_delay, options.max_hold, options.label};
  if (auto fits = make_request({}, {}, defaults, scheme->capabilities()); !fits) return fits.error();
  Owner owner;
  if (!options.anonymous) owner = base::this_process();
  auto context =
      std::make_shared<session::Context>(runtime, std::move(store), options.observer, std::move(owner), timeout);
  const std::shared_ptr<ClientCore> core(new ClientCore(std::move(context), *scheme, defaults));
  core->attach_store(options);
  return core;
}

void ClientCore::attach_store(const ClientOptions& options) {
  store::Surroundings surroundings;
  surroundings.timeout = context_->timeout;
  surroundings.reconnecting = [weak = std::weak_ptr(context_)](const std::string& why) {
    const auto self = weak.lock();
    if (self) self->telemetry.report({.type = EventType::reconnecting, .message = why});
  };
  surroundings.credentials = options.credentials;
  surroundings.sessions_in_doubt = [weak = std::weak_ptr(keeper_), executor = runtime().executor()] {
    boost::asio::post(executor, [weak] {
      if (const auto keeper = weak.lock()) keeper->renew_all();
    });
  };
  context_->store->attach(std::move(surroundings));
}

awaitable<Result<void>> ClientCore::connect(Deadline deadline) {
  const auto self = shared_from_this();
  co_return co_await context_->store->connect(patience().sooner(deadline.at));
}

Deadline ClientCore::patience() const { return Deadline::in(runtime().now(), context_->timeout); }

Result<void> ClientCore::usable() const {
  if (runtime().inert()) return Error{Errc::closed, "this client was opened before fork(); open another in the child"};
  if (closed_) return Error{Errc::closed, "the client is closed"};
  return {};
}

Result<store::Scheme*> ClientCore::find_scheme(std::string_view name) const {
  if (name.empty()) return &scheme_;
  if (store::Scheme* scheme = context_->store->scheme(name)) return scheme;
  return Error{Errc::invalid_argument, fmt::format("unknown scheme \"{}\"; this store has: {}", base::printable(name),
                                                   known_schemes(*context_->store))};
}

Result<std::shared_ptr<LockCore>> ClientCore::lock(const std::shared_ptr<ClientCore>& self, Kind kind,
                                                   std::string_view name, const LockOptions& options) {
  if (auto usable = self->usable(); !usable) return usable.error();
  Result<base::LockName> checked = base::LockName::make(name);
  if (!checked) return checked.error();
  Result<store::Scheme*> scheme = self->find_scheme(options.scheme);
  if (!scheme) return scheme.error();
  const Defaults own{options.lease, options.lock_delay, options.max_hold, std::string(options.label)};
  const Defaults defaults = own.over(self->defaults_);
  if (auto has = check_kind(kind, (*scheme)->capabilities()); !has) return has.error();
  if (auto fits = make_request({}, {}, defaults, (*scheme)->capabilities()); !fits) return fits.error();

  const store::LockKey key{kind, std::move(*checked)};
  Result<std::shared_ptr<NamedLock>> lock = named_lock(self, key, {*scheme, make_bounds(options), options.waiting});
  if (!lock) return lock.error();
  return std::make_shared<LockCore>(std::move(*lock), defaults);
}

Result<std::shared_ptr<NamedLock>> ClientCore::named_lock(const std::shared_ptr<ClientCore>& self,
                                                          const store::LockKey& key, const LockAgreement& agreed) {
  std::shared_ptr<NamedLock> known;  // let go after the mutex: it may be the last one, which forgets itself
  const std::lock_guard guard(self->mutex_);
  std::weak_ptr<NamedLock>& place = self->locks_[key];
  known = place.lock();
  if (known) {
    if (known->agreed() == agreed) return known;
    return Error{Errc::invalid_argument, "another handle of " + key.name.quoted() +
                                             " in this client has another scheme, hand-off bound or waiting style"};
  }
  known = std::make_shared<NamedLock>(self, key, agreed);
  place = known;
  return known;
}

std::shared_ptr<local::LocalLock> ClientCore::make_queue(const store::LockKey& key, const LockAgreement& agreed) const {
  return std::make_shared<local::LocalLock>(context_, keeper_, *agreed.scheme, key, agreed.bounds);
}

void ClientCore::forget(const store::LockKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = locks_.find(key);
  if (found != locks_.end() && found->second.expired()) locks_.erase(found);
}

awaitable<Result<void>> ClientCore::check(Sequencer sequencer) {
  const auto self = shared_from_this();
  if (auto usable = this->usable(); !usable) co_return usable;
  Result<base::LockName> name = base::LockName::make(sequencer.name);
  if (!name) co_return name.error();
  // Another client may have given a store that was emptied a new id: the epoch and the id are read together.
  if (sequencer.store_id != store_id()) {
    Result<std::uint64_t> current = co_await context_->store->epoch(patience());
    if (!current && current.code() != Errc::unsupported) co_return current.error();
  }
  if (sequencer.store_id != store_id()) {
    co_return Error{Errc::invalid_argument, "the sequencer of " + name->quoted() + " comes from another store"};
  }
  const store::LockKey key{sequencer.kind, std::move(*name)};
  Result<bool> stands = co_await scheme_.check(key, sequencer.token, patience());
  if (!stands) co_return stands.error();
  if (*stands) co_return Result<void>();
  co_return Error{Errc::overtaken, "the grant of " + key.name.quoted() + " with token " + sequencer.token.to_string() +
                                       " does not stand any more"};
}

awaitable<Result<LockView>> ClientCore::inspect(std::string name, Kind kind) {
  const auto self = shared_from_this();
  if (auto usable = this->usable(); !usable) co_return usable.error();
  Result<base::LockName> checked = base::LockName::make(name);
  if (!checked) co_return checked.error();
  const store::LockKey key{kind, std::move(*checked)};
  co_return co_await scheme_.inspect(key, patience());
}

awaitable<Result<std::vector<LockView>>> ClientCore::other_kinds(std::string name, Kind kind) {
  const auto self = shared_from_this();
  if (auto usable = this->usable(); !usable) co_return usable.error();
  Result<base::LockName> checked = base::LockName::make(name);
  if (!checked) co_return checked.error();
  const store::LockKey key{kind, std::move(*checked)};
  co_return co_await lock::other_kinds(runtime(), scheme_, key, context_->timeout);
}

void ClientCore::look_for_other_kinds(const store::LockKey& key, store::Scheme& scheme) {
  if (!context_->telemetry.observed() || !looks_.take(runtime().now())) return;
  runtime().send([self = shared_from_this(), key, scheme = &scheme] {
    base::spawn(self->runtime(), self->report_other_kinds(key, scheme));
  });
}

// The claim is at the store before we look. So of two kinds that are held at the same time, the one that is granted later
// finds the other.
awaitable<void> ClientCore::report_other_kinds(store::LockKey key, store::Scheme* scheme) {
  const auto self = shared_from_this();
  if (closed_ || mixed_.contains(key)) co_return;
  const session::Context::Task task(*context_);
  Result<std::vector<LockView>> others = co_await lock::other_kinds(runtime(), *scheme, key, context_->timeout);
  if (!others || others->empty() || closed_ || mixed_.contains(key)) co_return;
  if (mixed_.size() < most_mixed) mixed_.insert(key);
  context_->report(EventType::other_kind, key, {.message = describe_other_kinds(key, *others)});
}

awaitable<Result<std::vector<LockView>>> ClientCore::list(std::string prefix) {
  const auto self = shared_from_this();
  if (auto usable = this->usable(); !usable) co_return usable.error();
  const Deadline deadline = Deadline::in(runtime().now(), 10 * context_->timeout);  // there may be very many
  co_return co_await scheme_.list(std::move(prefix), deadline);
}

awaitable<Result<std::uint64_t>> ClientCore::epoch() {
  const auto self = shared_from_this();
  co_return co_await context_->store->epoch(patience());
}

awaitable<Result<std::uint64_t>> ClientCore::raise_epoch() {
  const auto self = shared_from_this();
  co_return co_await context_->store->raise_epoch(patience());
}

awaitable<Result<void>> ClientCore::revoke(std::string name, std::string claim, bool now, Kind kind) {
  const auto self = shared_from_this();
  if (auto usable = this->usable(); !usable) co_return usable;
  Result<base::LockName> checked = base::LockName::make(name);
  if (!checked) co_return checked.error();
  const store::LockKey key{kind, std::move(*checked)};
  if (claim.empty()) {
    Result<std::string> holder = co_await only_holder(key);
    if (!holder) co_return holder.error();
    claim = std::move(*holder);
  }
  store::ClaimId id;
  if (!base::parse_hex(claim, id.high, id.low)) {
    co_return Error{Errc::invalid_argument, "\"" + base::printable(claim) + "\" is no claim id: it has 32 hex digits"};
  }
  Result<bool> found = co_await scheme_.revoke(key, id, now, patience());
  if (!found) co_return found.error();
  if (*found) co_return Result<void>();
  co_return Error{Errc::not_owner, "claim " + claim + " does not hold " + key.name.quoted() + " (any more)"};
}

awaitable<Result<std::string>> ClientCore::only_holder(store::LockKey key) {
  Result<LockView> view = co_await scheme_.inspect(key, patience());
  if (!view) co_return view.error();
  if (view->holders.empty()) co_return Error{Errc::not_owner, "nobody holds " + key.name.quoted()};
  if (view->holders.size() == 1) co_return view->holders.front().claim;
  co_return Error{Errc::invalid_argument, fmt::format("{} clients hold {}: say which claim to revoke",
                                                      view->holders.size(), key.name.quoted())};
}

void ClientCore::close_locks() {
  std::vector<std::shared_ptr<NamedLock>> locks;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [key, weak] : locks_) {
      if (auto named = weak.lock()) locks.push_back(std::move(named));
    }
  }
  for (const auto& named : locks) named->close();
}

awaitable<Result<void>> ClientCore::close(Duration within) {
  const auto self = shared_from_this();
  closed_ = true;
  if (base::planted(base::Bug::close_is_lazy)) co_return Result<void>();
  const Deadline deadline = Deadline::in(runtime().now(), within);
  close_locks();
  while (context_->tasks != 0 && !deadline.passed(runtime().now())) co_await context_->tasks_over.wait(deadline.at);
  const bool over = co_await keeper_->close(deadline);
  if (!over) {
    co_return Error{Errc::outcome_unknown,
                    "the store has not confirmed everything in time; what it does not know yet ends with the lease"};
  }
  const bool told = co_await context_->telemetry.finish(deadline.at);
  if (told) co_return Result<void>();
  co_return Error{Errc::outcome_unknown, "the store has confirmed everything, but an observer is still busy"};
}

namespace {

/// Takes the last reference along, so that the store ends on the executor, where it has lived.
awaitable<Result<void>> say_goodbye(std::shared_ptr<ClientCore> last) {
  Result<void> closed = co_await last->close(last_words);
  // What has just ended is taken down by handlers that are waiting already; they hold the store, too.
  co_await boost::asio::post(last->runtime().executor(), boost::asio::use_awaitable);
  last.reset();
  co_return closed;
}

void let_go(std::shared_ptr<ClientCore> last) {
  Runtime& runtime = last->runtime();
  if (runtime.inert()) {
    new std::shared_ptr<ClientCore>(std::move(last));  // the parent's: its mutexes may be locked for ever here
  } else if (runtime.may_block()) {
    [[maybe_unused]] auto closed = runtime.block_on(say_goodbye(std::move(last)));
  } else {
    base::spawn(runtime, [](std::shared_ptr<ClientCore> taken) -> awaitable<void> {
      [[maybe_unused]] auto closed = co_await say_goodbye(std::move(taken));
    }(std::move(last)));
  }
}

}  // namespace

std::shared_ptr<ClientCore> make_handle(std::shared_ptr<ClientCore> core) {
  ClientCore* raw = core.get();
  return std::shared_ptr<ClientCore>(raw, [core = std::move(core)](ClientCore*) mutable {
    base::or_out_of_memory([&core] { let_go(std::move(core)); });
  });
}

}  // namespace pawl::lock
