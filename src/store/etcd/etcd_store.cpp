#include "store/etcd/etcd_store.hpp"

#include <utility>

namespace pawl::store::etcd {

EtcdStore::EtcdStore(base::Runtime& runtime, Config config)
    : server_(std::make_shared<Server>(runtime, std::move(config))), queue_(server_) {}

Scheme* EtcdStore::scheme(std::string_view name) {
  return name.empty() || name == Queue::declared.scheme ? &queue_ : nullptr;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<Config> config = read_config(url, options);
  if (!config) return config.error();
  return std::make_shared<EtcdStore>(runtime, std::move(*config));
}

}  // namespace pawl::store::etcd
