#include "store/zookeeper/zookeeper_store.hpp"

#include <utility>

namespace pawl::store::zookeeper {

ZooKeeperStore::ZooKeeperStore(base::Runtime& runtime, Config config)
    : server_(std::make_shared<Server>(runtime, std::move(config))), sequential_(server_), ephemeral_(server_) {}

Scheme* ZooKeeperStore::scheme(std::string_view name) {
  if (name == Ephemeral::declared.scheme) return &ephemeral_;
  return name.empty() || name == Sequential::declared.scheme ? &sequential_ : nullptr;
}

Result<std::shared_ptr<Store>> open(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime) {
  Result<Config> config = read_config(url, options);
  if (!config) return config.error();
  return std::make_shared<ZooKeeperStore>(runtime, std::move(*config));
}

}  // namespace pawl::store::zookeeper
