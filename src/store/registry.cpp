#include "store/registry.hpp"

#include "base/lock_name.hpp"
#ifdef PAWL_STORE_ETCD
#include "store/etcd/etcd_store.hpp"
#endif
#ifdef PAWL_STORE_FILE
#include "store/file/file_store.hpp"
#endif
#include "store/memory/memory_store.hpp"
#ifdef PAWL_STORE_MYSQL
#include "store/mysql/mysql_store.hpp"
#endif
#ifdef PAWL_STORE_REDIS
#include "store/redis/redis_store.hpp"
#endif
#ifdef PAWL_STORE_REDLOCK
#include "store/redlock/redlock_store.hpp"
#endif
#ifdef PAWL_STORE_ZOOKEEPER
#include "store/zookeeper/zookeeper_store.hpp"
#endif

#include <algorithm>
#include <string>

namespace pawl::store {

namespace {

struct Entry {
  std::vector<std::string_view> url_schemes;
  std::vector<std::string_view> refused;  ///< known, so that `open` can say why not
  /// Takes its own options out of the URL; nothing is asked of the store yet.
  Result<std::shared_ptr<Store>> (*open)(const base::Url& url, base::UrlOptions& options, base::Runtime& runtime);
  std::vector<const Capabilities*> capabilities;  ///< the default scheme first
};

// A plain table: statics that register themselves vanish from a static library.
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {{"memory"}, {}, memory::open, {&memory::Queue::declared}},
#ifdef PAWL_STORE_FILE
      {{"file"}, {}, file::open, {&file::Queue::declared}},
#endif
#ifdef PAWL_STORE_REDIS
      {{"redis", "rediss", "redis+unix", "redis+sentinel"},
       {},
       redis::open,
       {&redis::Queue::declared, &redis::Simple::declared, &redis::Redisson::declared}},
#endif
#ifdef PAWL_STORE_REDLOCK
      {{"redlock", "redlock+tls", "redlock+unix"}, {}, redlock::open, {&redlock::Majority::declared}},
#endif
#ifdef PAWL_STORE_MYSQL
      {{"mysql", "mariadb", "mysql+unix"},
       {},
       mysql::open,
       {&mysql::Queue::declared, &mysql::Unique::declared, &mysql::Version::declared, &mysql::Named::declared,
        &mysql::ForUpdate::declared}},
#endif
#ifdef PAWL_STORE_ZOOKEEPER
      {{"zookeeper"},
       {"zookeeper+tls"},
       zookeeper::open,
       {&zookeeper::Sequential::declared, &zookeeper::Ephemeral::declared}},
#endif
#ifdef PAWL_STORE_ETCD
      {{"etcd", "etcd+tls", "etcd+srv"}, {}, etcd::open, {&etcd::Queue::declared}},
#endif
  };
  return entries;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error unknown(std::string_view url_scheme) {
  std::string known;
  for (const Entry& entry : table()) {
    for (const std::string_view name : entry.url_schemes) known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return {Errc::invalid_argument,
          "unknown store \"" + base::printable(url_scheme, 40) + ":\"; this build knows: " + known};
}

}  // namespace

Result<std::shared_ptr<Store>> open_store(const base::Url& url, base::Runtime& runtime) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Entry& entry) {
    return contains(entry.url_schemes, url.scheme) || contains(entry.refused, url.scheme);
  });
  if (found == table().end()) return unknown(url.scheme);

  base::UrlOptions options(url);
  for (const std::string_view key : common_options) options.text(key);
  Result<std::shared_ptr<Store>> store = found->open(url, options, runtime);
  if (!store) return store;
  if (Result<void> all_known = options.finish(); !all_known) return all_known.error();
  return store;
}

std::vector<const Capabilities*> all_capabilities() {
  std::vector<const Capabilities*> all;
  for (const Entry& entry : table()) all.insert(all.end(), entry.capabilities.begin(), entry.capabilities.end());
  return all;
}

}  // namespace pawl::store
