#include "tests/torture/stage.hpp"

namespace pawl::torture {

const std::vector<StageEntry>& stages() {
  static const std::vector<StageEntry> all{
#ifdef PAWL_WITH_FILE
      {"file/queue", "queue", file_stage},
#endif
#ifdef PAWL_WITH_REDIS
      {"redis/queue", "queue", redis_stage},
      {"redis/simple", "simple", redis_stage},
      {"redis-without-persistence/queue", "queue", forgetful_redis_stage},
      {"redis-without-persistence/simple", "simple", forgetful_redis_stage},
      {"redis/redisson", "redisson", redis_stage},
#endif
#ifdef PAWL_WITH_REDLOCK
      {"redlock/majority", "majority", redlock_stage},
#endif
#ifdef PAWL_WITH_MYSQL
      {"mysql/queue", "queue", mysql_stage},
      {"mysql/unique", "unique", mysql_stage},
      {"mysql/version", "version", mysql_stage},
      {"mysql/named", "named", mysql_connections_stage},
      {"mysql/for-update", "for-update", mysql_connections_stage},
#endif
#ifdef PAWL_WITH_ZOOKEEPER
      {"zookeeper/sequential", "sequential", zookeeper_stage},
      {"zookeeper/ephemeral", "ephemeral", zookeeper_stage},
      {"zookeeper-ensemble/sequential", "sequential", zookeeper_ensemble_stage},
      {"zookeeper-ensemble/ephemeral", "ephemeral", zookeeper_ensemble_stage},
#endif
#ifdef PAWL_WITH_ETCD
      {"etcd/queue", "queue", etcd_stage},
      {"etcd-cluster/queue", "queue", etcd_cluster_stage},
#endif
  };
  return all;
}

}  // namespace pawl::torture
