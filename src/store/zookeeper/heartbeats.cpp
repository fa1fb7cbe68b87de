#include "store/zookeeper/heartbeats.hpp"

#include <algorithm>

namespace pawl::store::zookeeper {

void Heartbeats::attached(base::Time begun, Duration gap) {
  gap_ = gap;
  connected_ = begun;
  open_.clear();  // of the last connection, and older
}

void Heartbeats::confirmed(base::Time sent, base::Time now) {
  if (connected_) counts_from_ = std::max(counts_from_, *connected_);
  connected_.reset();
  for (auto sign = open_.rbegin(); sign != open_.rend() && !sign->arrived; ++sign) {
    if (sign->sent <= sent) sign->arrived = now;
  }
  while (!open_.empty() && open_.front().arrived && *open_.front().arrived <= sent - gap_) {
    counts_from_ = std::max(counts_from_, open_.front().sent);
    open_.pop_front();
  }
}

}  // namespace pawl::store::zookeeper
