#include "store/etcd/cluster.hpp"

#include <utility>

namespace pawl::store::etcd {

namespace {

Error not_yet() { return {Errc::unsupported, "the etcd transport is not there yet"}; }

}  // namespace

class Cluster::Impl {
 public:
  std::uint64_t last_watch = 0;
};

Cluster::Cluster(base::Runtime& /*runtime*/, Config /*config*/) : impl_(std::make_shared<Impl>()) {}
Cluster::~Cluster() = default;

void Cluster::start(Plan /*plan*/) {}
void Cluster::stop() {}

awaitable<Result<void>> Cluster::connect(Deadline /*deadline*/) { co_return not_yet(); }
awaitable<Result<pb::TxnResponse>> Cluster::txn(pb::TxnRequest /*request*/, Deadline /*deadline*/) {
  co_return not_yet();
}
awaitable<Result<pb::RangeResponse>> Cluster::range(pb::RangeRequest /*request*/, Deadline /*deadline*/) {
  co_return not_yet();
}
awaitable<Result<std::int64_t>> Cluster::grant_lease(std::int64_t /*id*/, std::int64_t /*ttl*/, Deadline /*deadline*/) {
  co_return not_yet();
}
awaitable<Result<void>> Cluster::revoke_lease(std::int64_t /*id*/, Deadline /*deadline*/) { co_return not_yet(); }
awaitable<Result<Cluster::Kept>> Cluster::keep_alive(std::int64_t /*id*/, Deadline /*deadline*/) {
  co_return not_yet();
}
Cluster::WatchId Cluster::watch(std::string /*key*/, std::string /*range_end*/,
                                std::function<void(const Heard&)> /*hear*/) {
  return ++impl_->last_watch;
}
awaitable<Result<std::int64_t>> Cluster::watched_from(WatchId /*watch*/, Deadline /*deadline*/) { co_return not_yet(); }
void Cluster::unwatch(WatchId /*watch*/) {}

}  // namespace pawl::store::etcd
