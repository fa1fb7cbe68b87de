#include <pawl/client.hpp>

#include "base/lock_name.hpp"
#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "lock/access.hpp"
#include "lock/client_core.hpp"
#include "lock/lock_core.hpp"
#include "store/default_store.hpp"
#include "store/registry.hpp"

#include <string>
#include <utility>

namespace pawl {

namespace {

using lock::ClientCore;

Result<void> take(base::UrlOptions& query, std::string_view key, std::optional<Duration>& option) {
  Result<std::optional<Duration>> value = query.duration(key);
  if (!value) return value.error();
  if (!option) option = *value;
  return {};
}

/// What the options leave open, the URL may say.
Result<ClientOptions> complete(ClientOptions options, const base::Url& url) {
  base::UrlOptions query(url);
  if (options.scheme.empty()) options.scheme = query.text("scheme").value_or("");
  const std::string owner = query.text("owner").value_or("");
  if (!owner.empty() && owner != "anonymous") {
    return Error{Errc::invalid_argument, "owner=" + base::printable(owner) + " is not known; owner=anonymous is"};
  }
  options.anonymous = options.anonymous || owner == "anonymous";
  if (auto ok = take(query, "lease", options.lease); !ok) return ok.error();
  if (auto ok = take(query, "lock_delay", options.lock_delay); !ok) return ok.error();
  if (auto ok = take(query, "max_hold", options.max_hold); !ok) return ok.error();
  if (auto ok = take(query, "timeout", options.timeout); !ok) return ok.error();
  return options;
}

/// Connected, if that is asked for.
Result<std::shared_ptr<ClientCore>> open_core(std::string_view text, ClientOptions options) {
  base::RealRuntime& runtime = base::RealRuntime::process_wide();
  Result<base::Url> url = base::Url::parse(text);
  if (!url) return url.error();
  Result<ClientOptions> complete_options = complete(std::move(options), *url);
  if (!complete_options) return complete_options.error();
  Result<std::shared_ptr<store::Store>> store = store::open_store(*url, runtime);
  if (!store) return store.error();
  Result<std::shared_ptr<ClientCore>> core = ClientCore::make(runtime, std::move(*store), *complete_options);
  if (!core) return core.error();
  // First the handle: also one that never gets a connection ends on the executor.
  std::shared_ptr<ClientCore> handle = lock::make_handle(std::move(*core));
  if (complete_options->connect == Connect::now) {
    Result<void> connected = runtime.block_on(handle->connect());
    if (!connected) return connected.error();
  }
  return handle;
}

Client unwrap(Result<Client> client) { return std::move(client).value(); }

}  // namespace

Client::Client(std::shared_ptr<ClientCore> core) noexcept : core_(std::move(core)) {}

Client::Client(std::string_view url, ClientOptions options) : Client(unwrap(open(url, std::move(options)))) {}

Result<Client> Client::open(std::string_view text, ClientOptions options) try {
  Result<std::shared_ptr<ClientCore>> core = open_core(text, std::move(options));
  if (!core) return core.error();
  return Client(std::move(*core));
} catch (...) {
  return base::refused_by_system();  // no thread or descriptor is left
}

Result<Client> Client::open(ClientOptions options) {
  Result<std::string> url = store::default_store_url();
  if (!url) return url.error();
  Result<Client> client = open(*url, std::move(options));
  if (client || store::default_store_is_named()) return client;
  const Errc code = client.code();
  if (code != Errc::permission_denied && code != Errc::invalid_argument && code != Errc::unsupported) return client;
  return Error{code, client.error().message +
                         " (this is the default store: name another, as in PAWL_STORE=file:///path/to/a/folder)"};
}

Mutex Client::mutex(std::string_view name, LockOptions options) {
  return lock::Access::make<Mutex>(ClientCore::lock(core_, Kind::mutex, name, options).value());
}

SharedMutex Client::shared_mutex(std::string_view name, LockOptions options) {
  return lock::Access::make<SharedMutex>(ClientCore::lock(core_, Kind::rw, name, options).value());
}

Semaphore Client::semaphore(std::string_view name, std::uint32_t permits, LockOptions options) {
  if (permits == 0 || permits > Semaphore::most_permits) {
    throw Exception(Error{Errc::invalid_argument, "a semaphore has 1 to " + std::to_string(Semaphore::most_permits) +
                                                      " permits, not " + std::to_string(permits)});
  }
  return lock::Access::make<Semaphore>(ClientCore::lock(core_, Kind::permits, name, options).value(), permits);
}

Election Client::election(std::string_view name, LockOptions options) {
  return lock::Access::make<Election>(ClientCore::lock(core_, Kind::election, name, options).value());
}

Result<void> Client::check(const Sequencer& sequencer) {
  if (auto usable = core_->usable(); !usable) return usable;
  return core_->runtime().block_on(core_->check(sequencer));
}

Result<LockView> Client::inspect(std::string_view name, Kind kind) {
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(core_->inspect(std::string(name), kind));
}

Result<std::vector<LockView>> Client::other_kinds(std::string_view name, Kind kind) {
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(core_->other_kinds(std::string(name), kind));
}

Result<std::vector<LockView>> Client::list(std::string_view prefix) {
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(core_->list(std::string(prefix)));
}

Result<void> Client::revoke(std::string_view name, RevokeOptions options, Kind kind) {
  if (auto usable = core_->usable(); !usable) return usable;
  return core_->runtime().block_on(core_->revoke(std::string(name), std::string(options.claim), options.now, kind));
}

Result<std::uint64_t> Client::epoch() {
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(core_->epoch());
}

Result<std::uint64_t> Client::raise_epoch() {
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(core_->raise_epoch());
}

std::uint64_t Client::store_id() const noexcept { return core_->store_id(); }

Metrics Client::metrics() const { return core_->context().telemetry.snapshot(); }

Result<void> Client::close(Duration within) {
  if (core_->runtime().inert()) return core_->usable();
  return core_->runtime().block_on(core_->close(within));
}

}  // namespace pawl
