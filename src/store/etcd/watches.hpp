#pragma once

#include "etcd.pb.h"
#include "store/etcd/cluster.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::etcd {

/// The watches of one client on its one watch stream, without I/O: what the server says goes in by take(), what to say to
/// it comes out by next().
///
/// | state   | next()         | answer `created`  | answer `canceled`           | begin() (new stream)        | remove()            |
/// |---------|----------------|-------------------|-----------------------------|-----------------------------|---------------------|
/// | wanted  | create; asked  | -                 | -                           | wanted                      | gone                |
/// | asked   | -              | made              | doubted; refused the second time | wanted                      | gone; cancel once made |
/// | made    | -              | -                 | wanted, interrupted         | wanted, interrupted         | gone; cancel        |
/// | doubted | -              | -                 | -                           | wanted                      | gone                |
/// | refused | -              | -                 | -                           | wanted                      | gone                |
///
/// A watch that was interrupted tells `missed` once it is made again.
/// Servers take the watch ids that we choose, each of them once in a stream's life: etcd 3.4 refuses the id of a watch that it
/// has ended itself. Older ones and etcd's proxy choose their own, and are asked one at a time, so
/// that their answers can be told apart.
class Watches {
 public:
  using Id = Cluster::WatchId;
  using Hear = std::function<void(const Heard&)>;

  Id add(std::string key, std::string range_end, Hear hear);
  void remove(Id id);
  bool empty() const { return watches_.empty(); }

  /// A new stream: the server knows nothing.
  void begin();
  /// What to say now, or nothing.
  std::optional<pb::WatchRequest> next();
  struct Taken {
    std::vector<Id> settled = {};  ///< made or refused
    bool doubted = false;          ///< one was refused for the first time: the stream's token may have expired
  };
  /// Calls who watches.
  Taken take(const pb::WatchResponse& response);

  /// Those that were refused once are refused, and these they are.
  std::vector<Id> refuse_doubted();

  /// The revision behind which everything is told. Nothing: not made. An error: refused, or there is no such watch.
  Result<std::optional<std::int64_t>> made_from(Id id) const;

 private:
  /// Servers that choose ids themselves count from 0.
  static constexpr std::int64_t our_ids = std::int64_t{1} << 40;

  enum class State : std::uint8_t { wanted, asked, made, doubted, refused, gone };
  struct Watch {
    Id id = 0;
    std::string key = {};
    std::string range_end = {};
    Hear hear = {};
    State state = State::wanted;
    bool interrupted = false;
    bool was_refused = false;
    std::int64_t server_id = 0;
    std::int64_t from = 0;
    std::string why = {};
  };
  using Shared = std::shared_ptr<Watch>;

  void want(Watch& watch);
  void created(const pb::WatchResponse& response, Taken& taken);
  static void tell(const Watch& watch, const pb::Event& event);

  std::map<Id, Shared> watches_;
  std::map<std::int64_t, Shared> by_server_id_;
  std::deque<Id> wanted_;
  struct Asked {
    Id watch = 0;
    std::int64_t server_id = 0;  ///< that we have asked for
  };
  std::deque<Asked> asked_;             // in the order of asking
  std::deque<std::int64_t> to_cancel_;  // ids of the server
  Id last_ = 0;
  std::int64_t last_server_id_ = our_ids;
  bool takes_our_ids_ = false;  // this stream's server
};

}  // namespace pawl::store::etcd
