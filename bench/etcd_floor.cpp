// What a lock on etcd cannot do without: the requests alone, through the channel that pawl uses, and nothing of the library
// around it. A participant of bench/etcd_bench.py, with these schemes:
//
// pair    put a key and delete it: a lock that no other client wants
// queue   put a key and look for the one before it, in one request; watch that one, and look whether it is still there;
//         delete lets go, and the event alone takes. It holds only as long as no client leaves the queue, which a lock has
//         to ask about

#include "base/real_runtime.hpp"
#include "base/wakeup.hpp"
#include "bench/participant.hpp"
#include "store/etcd/cluster.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

namespace pawl::bench {

namespace {

namespace pb = store::etcd::pb;
using base::awaitable;
using base::Deadline;
using store::etcd::Cluster;
using store::etcd::Heard;

constexpr std::chrono::seconds patience{30};

base::RealRuntime& runtime() { return base::RealRuntime::process_wide(); }
Deadline soon() { return Deadline::in(runtime().now(), patience); }

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return std::move(result).value();
}

awaitable<Result<void>> begin(std::shared_ptr<Cluster> cluster) {
  cluster->start({});
  Result<void> connected = co_await cluster->connect(soon());
  co_return connected;
}

awaitable<Result<pb::TxnResponse>> ask(std::shared_ptr<Cluster> cluster, pb::TxnRequest request) {
  Result<pb::TxnResponse> answer = co_await cluster->txn(std::move(request), soon());
  co_return answer;
}

/// Until the watch has seen it go; false: not before `until`.
awaitable<Result<bool>> wait_until_gone(std::shared_ptr<Cluster> cluster, std::string key, base::Time until) {
  const auto wakeup = std::make_shared<base::Wakeup>(runtime());
  const auto gone = std::make_shared<bool>(false);
  const auto watch = cluster->watch(key, "", [wakeup, gone](const Heard& heard) {
    if (heard.what != Heard::What::deleted) return;
    *gone = true;
    wakeup->notify();
  });
  pb::RangeRequest look;
  look.set_key(key);
  Result<std::int64_t> from = co_await cluster->watched_from(watch, soon());
  Result<pb::RangeResponse> there = co_await cluster->range(std::move(look), soon());
  const bool known = from && there;
  if (known && there->kvs_size() == 0) *gone = true;
  while (known && !*gone && runtime().now() < until) {
    base::Woke woke = co_await wakeup->wait(until);
    (void)woke;
  }
  cluster->unwatch(watch);
  if (!known) co_return from ? there.error() : from.error();
  co_return *gone;
}

pb::RequestOp putting(const std::string& key) {
  pb::RequestOp op;
  op.mutable_request_put()->set_key(key);
  op.mutable_request_put()->set_value("1");
  return op;
}

pb::RequestOp erasing(const std::string& key) {
  pb::RequestOp op;
  op.mutable_request_delete_range()->set_key(key);
  return op;
}

/// One client.
class Wire {
 public:
  explicit Wire(const std::string& url) {
    const base::Url parsed = must(base::Url::parse(url));
    base::UrlOptions options(parsed);
    cluster_ = std::make_shared<Cluster>(runtime(), must(store::etcd::read_config(parsed, options)));
    const Result<void> connected = runtime().block_on(begin(cluster_));
    if (!connected) throw std::runtime_error(connected.error().to_string());
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { (void)runtime().block_on(stop(cluster_)); }

  pb::TxnResponse change(pb::RequestOp op) {
    pb::TxnRequest request;
    *request.add_success() = std::move(op);
    return must(runtime().block_on(ask(cluster_, std::move(request))));
  }
  /// The key that was put last before this one; nothing: there is none.
  std::string put_behind(const std::string& key, const std::string& folder) {
    pb::TxnRequest request;
    *request.add_success() = putting(key);
    pb::RangeRequest& last = *request.add_success()->mutable_request_range();
    last.set_key(folder);
    std::string end = folder;
    ++end.back();
    last.set_range_end(end);
    last.set_limit(2);
    last.set_sort_order(pb::RangeRequest::DESCEND);
    last.set_sort_target(pb::RangeRequest::CREATE);
    last.set_keys_only(true);
    const pb::TxnResponse answer = must(runtime().block_on(ask(cluster_, std::move(request))));
    const auto& found = answer.responses(1).response_range().kvs();
    return found.size() < 2 ? "" : found[1].key();
  }
  bool wait(const std::string& key, std::int64_t until) {
    const base::Time end = runtime().now() + std::chrono::nanoseconds(until - now());
    return must(runtime().block_on(wait_until_gone(cluster_, key, end)));
  }

 private:
  static awaitable<Result<void>> stop(std::shared_ptr<Cluster> cluster) {
    cluster->stop();
    co_return Result<void>{};
  }

  std::shared_ptr<Cluster> cluster_;
};

class PairLock final : public Lock {
 public:
  PairLock(Wire& wire, const std::string& name) : wire_(wire), key_("floor/pair-" + name) {}

  bool acquire(std::int64_t) override {
    wire_.change(putting(key_));
    return true;
  }
  void release() override { wire_.change(erasing(key_)); }

 private:
  Wire& wire_;
  const std::string key_;
};

class QueueLock final : public Lock {
 public:
  QueueLock(Wire& wire, const std::string& name) : wire_(wire), folder_("floor/queue-" + name + "/") {}

  bool acquire(std::int64_t until) override {
    if (now() >= until) return false;
    static std::atomic<int> keys = 0;
    key_ = folder_ + std::to_string(::getpid()) + "-" + std::to_string(++keys);
    const std::string before = wire_.put_behind(key_, folder_);
    if (before.empty() || wire_.wait(before, until)) return true;
    // All give up at the same time, so whoever is woken before that follows a holder.
    release();
    return false;
  }
  void release() override { wire_.change(erasing(key_)); }

 private:
  Wire& wire_;
  const std::string folder_;
  std::string key_;
};

class Floor final : public Participant {
 public:
  void open(const std::string& url, const std::string& scheme, int clients) override {
    if (scheme != "pair" && scheme != "queue") throw std::runtime_error("no such scheme: " + scheme);
    wires_.clear();
    url_ = url;
    scheme_ = scheme;
    for (int i = 0; i < clients; ++i) wire(i);
  }
  std::unique_ptr<Lock> lock(const std::string& name, int client) override {
    if (scheme_ == "pair") return std::make_unique<PairLock>(wire(client), name);
    return std::make_unique<QueueLock>(wire(client), name);
  }
  std::unique_ptr<Lock> lock_of_thread(const std::string& name, int thread) override { return lock(name, thread); }

 private:
  Wire& wire(int client) {
    std::unique_ptr<Wire>& wire = wires_[client];
    if (!wire) wire = std::make_unique<Wire>(url_);
    return *wire;
  }

  std::string url_;
  std::string scheme_;
  std::map<int, std::unique_ptr<Wire>> wires_;
};

}  // namespace

}  // namespace pawl::bench

int main() {
  pawl::bench::Floor floor;
  return pawl::bench::serve(floor);
}
