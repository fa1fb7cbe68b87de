#pragma once

#include "etcd.pb.h"
#include "tests/etcd/altered_replies.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

/// Members of etcd whose replies are not what they should be: between one client and a real server.
namespace pawl::test {

/// About leases, and only those with that TTL. (What it says of its grant as well.)
inline bool is_kept(const std::string& message, std::int64_t ttl) {
  store::etcd::pb::LeaseKeepAliveResponse kept;
  const bool read = !message.empty() && kept.ParseFromString(message);
  return read && kept.id() != 0 && kept.ttl() == ttl && kept.SerializeAsString().size() == message.size();
}

/// Answers keepalives as a leader does that has just been elected and has not heard of a lease yet: TTL 0.
class NewLeader {
 public:
  explicit NewLeader(std::uint16_t server) : replies_(server, [this](Frame& frame) { alter(frame); }) {}

  std::uint16_t port() const { return replies_.port(); }
  /// The next so many answers that tell this TTL tell 0.
  void deny(int ttl, int times) {
    ttl_ = ttl;
    times_ = times;
  }

 private:
  void alter(Frame& frame) {
    if (times_ <= 0 || !is_kept(frame.message(), ttl_)) return;
    --times_;
    store::etcd::pb::LeaseKeepAliveResponse kept;
    kept.ParseFromString(frame.message());
    kept.set_ttl(0);
    frame.set_message(kept.SerializeAsString());
  }

  std::atomic<int> ttl_ = 0;
  std::atomic<int> times_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

/// Answers reads as a member does that has missed the last write (etcd#20418).
class StaleReads {
 public:
  explicit StaleReads(std::uint16_t server) : replies_(server, [this](Frame& frame) { alter(frame); }) {}

  std::uint16_t port() const { return replies_.port(); }
  /// So many from now on.
  void give(int times) { times_ = times; }
  int left() const { return times_; }

 private:
  void alter(Frame& frame) {
    store::etcd::pb::TxnResponse response;
    const std::string message = frame.message();
    if (times_ <= 0 || message.empty() || !response.ParseFromString(message) || response.responses().empty()) return;
    const bool reads = std::all_of(response.responses().begin(), response.responses().end(),
                                   [](const auto& op) { return op.has_response_range(); });
    if (!reads) return;
    --times_;
    response.mutable_header()->set_revision(response.header().revision() - 1);
    frame.set_message(response.SerializeAsString());
  }

  std::atomic<int> times_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

/// Ends the stream of keepalives with a status instead of an answer, and nothing else.
class EndedKeepalives {
 public:
  explicit EndedKeepalives(std::uint16_t server) : replies_(server, [this](Frame& frame) { alter(frame); }) {}

  std::uint16_t port() const { return replies_.port(); }
  /// The next answers about leases of that TTL.
  void end(int ttl, int times) {
    ttl_ = ttl;
    times_ = times;
  }
  int left() const { return times_; }

 private:
  void alter(Frame& frame) {
    if (times_ <= 0 || !is_kept(frame.message(), ttl_)) return;
    --times_;
    frame.become_status("14", "etcdserver: leader changed");
  }

  std::atomic<int> ttl_ = 0;
  std::atomic<int> times_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

/// Answers keepalives of a lease that is gone as if it were there (etcd#20616), and says nothing to watches.
class Flatterer {
 public:
  explicit Flatterer(std::uint16_t server) : replies_(server, [this](Frame& frame) { alter(frame); }) {}

  std::uint16_t port() const { return replies_.port(); }
  void vouch_for(std::int64_t lease) { lease_ = lease; }
  /// How many answers were not true.
  int untrue() const { return untrue_; }

 private:
  void alter(Frame& frame) {
    namespace pb = store::etcd::pb;
    const std::string message = frame.message();
    pb::LeaseKeepAliveResponse kept;
    if (lease_ == 0 || message.empty()) return;
    if (kept.ParseFromString(message) && kept.id() == lease_ && kept.ttl() == 0) {
      ++untrue_;
      kept.set_ttl(60);
      return frame.set_message(kept.SerializeAsString());
    }
    pb::WatchResponse watched;
    if (watched.ParseFromString(message) && !watched.events().empty()) frame.drop();
  }

  std::atomic<std::int64_t> lease_ = 0;
  std::atomic<int> untrue_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

}  // namespace pawl::test
