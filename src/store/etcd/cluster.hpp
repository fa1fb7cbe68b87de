#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "etcd.pb.h"
#include "store/etcd/config.hpp"
#include "store/store.hpp"

#include <pawl/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pawl::store::etcd {

using base::awaitable;
using base::Deadline;

/// What a watch has seen of its key or range. A hint: it may come twice, and may be missed.
struct Heard {
  enum class What : std::uint8_t {
    put,
    deleted,
    missed,  ///< the watch was interrupted (reconnected, compacted, no leader): look again
  } what = What::missed;
  std::string key = {};
  std::string value = {};                  ///< put: the new one
  std::optional<std::string> before = {};  ///< the value before, where the server gave it
  std::int64_t create_revision = 0;  ///< of the key; deleted: of the deleted one, 0 where the server did not give it
  std::int64_t mod_revision = 0;     ///< of the change itself
};

/// An etcd cluster, reached through whichever member answers: one connection, on which all calls, one watch stream and one
/// keepalive stream run. It reconnects by itself, logs in again when its token has expired, and watches again.
///
/// Members are tried in turn within a call's deadline, as long as it is certain that the call was not applied.
/// Errors: store_unavailable (not applied), outcome_unknown (may have been applied; only of txn, grant_lease and
///         revoke_lease), permission_denied, unsupported, invalid_argument, lost (the request names a lease that
///         does not exist; not applied), overloaded (too many requests; or the quota is exceeded, which etcd may find out
///         just after it has applied a write).
/// Threads: on the executor only.
class Cluster : public std::enable_shared_from_this<Cluster> {
 public:
  /// Called on the executor.
  struct Plan {
    Duration timeout = {};                                     ///< for connecting, instead of the URL's
    std::function<void(const pb::ResponseHeader&)> seen = {};  ///< the header of every answer, watches' included
    std::function<void()> up = {};                             ///< reachable again, after it was not
    std::function<void(const std::string& why)> down = {};
    /// Instead of the URL's credentials. User code: called elsewhere.
    std::function<Result<Credentials>()> credentials = {};
  };

  Cluster(base::Runtime& runtime, Config config);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Once, before everything else. Connects in the background.
  void start(Plan plan);
  /// Waits until a member is reached and has accepted our credentials.
  awaitable<Result<void>> connect(Deadline deadline);
  void stop();

  awaitable<Result<pb::TxnResponse>> txn(pb::TxnRequest request, Deadline deadline);
  /// A lost answer is store_unavailable. Linearizable unless the request says `serializable`.
  awaitable<Result<pb::RangeResponse>> range(pb::RangeRequest request, Deadline deadline);
  /// Answers the TTL. A lease of that id that exists already is a success.
  awaitable<Result<std::int64_t>> grant_lease(std::int64_t id, std::int64_t ttl_seconds, Deadline deadline);
  /// A lease that does not exist is a success.
  awaitable<Result<void>> revoke_lease(std::int64_t id, Deadline deadline);

  struct Kept {
    std::int64_t ttl = 0;
    std::uint64_t raft_term = 0;
  };
  /// One keepalive on the shared stream. `lost`: there is no such lease.
  /// Limit: a deposed leader answers as well. It proves something only together with a later write that tells the same
  ///        raft_term. A leader that has just been elected may say `lost` of a lease that it has yet to hear of: a write
  ///        that names the lease knows.
  awaitable<Result<Kept>> keep_alive(std::int64_t id, Deadline deadline);

  /// Never 0.
  using WatchId = std::uint64_t;
  /// From the current revision on, one of many on the shared watch stream. `range_end` empty: one key. After a break it is
  /// made again, and `missed` is told once the new one works.
  WatchId watch(std::string key, std::string range_end, std::function<void(const Heard&)> hear);
  /// Waits until the server has made it, and tells the revision from which on every change is told, so that what a range of
  /// at least that revision (its header's) has not shown will be heard. After a break it tells the new one's.
  awaitable<Result<std::int64_t>> watched_from(WatchId watch, Deadline deadline);
  void unwatch(WatchId watch);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pawl::store::etcd
