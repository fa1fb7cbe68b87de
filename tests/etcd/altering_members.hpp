#pragma once

#include "etcd.pb.h"
#include "tests/etcd/altered_replies.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

namespace pawl::test {

/// Answers keepalives as a leader does that has just been elected and has not heard of a lease yet: TTL 0.
class NewLeader {
 public:
  explicit NewLeader(std::uint16_t server) : replies_(server, [this](std::string& message) { alter(message); }) {}

  std::uint16_t port() const { return replies_.port(); }
  /// The next so many answers that tell this TTL tell 0. (Below 128, for it is one byte then.)
  void deny(char ttl, int times) {
    ttl_ = ttl;
    times_ = times;
  }

 private:
  /// The TTL is what a message about a lease ends with.
  void alter(std::string& message) {
    constexpr char ttl_tag = 0x18;
    const std::size_t size = message.size();
    if (size < 2 || message[size - 2] != ttl_tag || message[size - 1] != ttl_ || times_ <= 0) return;
    --times_;
    message.back() = 0;
  }

  std::atomic<char> ttl_ = 0;
  std::atomic<int> times_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

/// Answers reads as a member does that has missed the last write (etcd#20418).
class StaleReads {
 public:
  explicit StaleReads(std::uint16_t server) : replies_(server, [this](std::string& message) { alter(message); }) {}

  std::uint16_t port() const { return replies_.port(); }
  /// So many from now on.
  void give(int times) { times_ = times; }
  int left() const { return times_; }

 private:
  void alter(std::string& message) {
    namespace pb = store::etcd::pb;
    pb::TxnResponse response;
    if (times_ <= 0 || !response.ParseFromString(message) || response.responses().empty()) return;
    const bool reads = std::all_of(response.responses().begin(), response.responses().end(),
                                   [](const pb::ResponseOp& op) { return op.has_response_range(); });
    if (!reads) return;
    response.mutable_header()->set_revision(response.header().revision() - 1);
    const std::string stale = response.SerializeAsString();
    if (stale.size() != message.size()) return;  // from 128 to 127
    --times_;
    message = stale;
  }

  std::atomic<int> times_ = 0;
  AlteredReplies replies_;  // last: it uses the others
};

}  // namespace pawl::test
