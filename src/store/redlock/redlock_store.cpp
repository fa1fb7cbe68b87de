#include "store/redlock/redlock_store.hpp"

#include "base/escaped.hpp"
#include "store/net/tls.hpp"

#include <utility>

namespace pawl::store::redlock {

RedlockStore::RedlockStore(base::Runtime& runtime, Config config)
    : cluster_(std::make_shared<Cluster>(runtime, std::move(config))), majority_(cluster_) {}

// On the executor, whichever thread ends it.
RedlockStore::~RedlockStore() {
  if (cluster_->runtime().inert()) return;
  base::or_out_of_memory([this] { cluster_->runtime().send([cluster = cluster_] { cluster->wind_up(); }); });
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<Config> config = read_config(url, options);
  if (!config) return config.error();
  if (config->tls) {
    const Result<std::shared_ptr<const net::TlsContext>> tls = net::TlsContext::make(*config->tls);
    if (!tls) return tls.error();
    for (net::Address& address : config->addresses) address.tls = *tls;
  }
  return std::make_shared<RedlockStore>(runtime, std::move(*config));
}

}  // namespace pawl::store::redlock
