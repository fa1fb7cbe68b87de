#pragma once

#include "base/real_runtime.hpp"
#include "store/etcd/cluster.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/threads.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// The etcd transport as a test uses it: requests, what a watch hears, and a client that is called from the test's thread.
namespace pawl::test {

using namespace std::chrono_literals;
using base::Deadline;
using store::etcd::Cluster;
using store::etcd::Config;
using store::etcd::Heard;
namespace pb = store::etcd::pb;

inline pb::TxnRequest put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
  pb::TxnRequest request;
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
  return request;
}

inline pb::TxnRequest erase(const std::string& key) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(key);
  return request;
}

inline pb::RangeRequest get(const std::string& key) {
  pb::RangeRequest request;
  request.set_key(key);
  return request;
}

/// What a watch heard, for another thread.
class Ear {
 public:
  std::function<void(const Heard&)> hear() {
    return [this](const Heard& heard) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(heard);
    };
  }
  std::vector<Heard> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  bool waits_for(std::size_t count) const {
    return eventually([&] { return heard().size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Heard> heard_;
};

inline Config config_of(const std::string& url) {
  const base::Url parsed = base::Url::parse(url).value();
  base::UrlOptions options(parsed);
  return store::etcd::read_config(parsed, options).value();
}

/// One client of the transport, from the test's thread.
class TransportClient {
 public:
  explicit TransportClient(const std::string& url, Cluster::Plan plan = {})
      : cluster_(std::make_shared<Cluster>(runtime_, config_of(url))) {
    test::on_executor(runtime_, [&] { cluster_->start(std::move(plan)); });
  }
  TransportClient(const TransportClient&) = delete;
  TransportClient& operator=(const TransportClient&) = delete;
  ~TransportClient() {
    test::on_executor(runtime_, [&] { cluster_->stop(); });
  }

  Deadline in(Duration time) const { return Deadline::in(runtime_.now(), time); }
  Result<void> connect(Duration time = 30s) {
    return run([=, this] { return cluster_->connect(in(time)); });
  }
  std::future<Result<pb::TxnResponse>> begin_txn(const pb::TxnRequest& request, Duration time = 30s) {
    return begin([=, this] { return cluster_->txn(request, in(time)); });
  }
  Result<pb::TxnResponse> txn(const pb::TxnRequest& request, Duration time = 30s) {
    auto begun = begin_txn(request, time);
    return take(begun);
  }
  Result<pb::RangeResponse> range(const pb::RangeRequest& request, Duration time = 30s) {
    return run([=, this] { return cluster_->range(request, in(time)); });
  }
  /// The value, or what went wrong.
  std::string value(const std::string& key) {
    const Result<pb::RangeResponse> found = range(get(key));
    if (!found) return found.error().to_string();
    return found->kvs_size() == 1 ? found->kvs(0).value() : "none";
  }
  Result<std::int64_t> grant(std::int64_t id, std::int64_t seconds) {
    return run([=, this] { return cluster_->grant_lease(id, seconds, in(30s)); });
  }
  Result<void> revoke(std::int64_t id) {
    return run([=, this] { return cluster_->revoke_lease(id, in(30s)); });
  }
  Result<Cluster::Kept> keep_alive(std::int64_t id, Duration time = 30s) {
    return run([=, this] { return cluster_->keep_alive(id, in(time)); });
  }
  Cluster::WatchId watch(const std::string& key, Ear& ear, const std::string& range_end = {}) {
    Cluster::WatchId id = 0;
    test::on_executor(runtime_, [&] { id = cluster_->watch(key, range_end, ear.hear()); });
    return id;
  }
  Result<std::int64_t> watched_from(Cluster::WatchId watch, Duration time = 30s) {
    return run([=, this] { return cluster_->watched_from(watch, in(time)); });
  }
  void unwatch(Cluster::WatchId watch) {
    test::on_executor(runtime_, [&] { cluster_->unwatch(watch); });
  }

 private:
  template <class Start>
  auto begin(const Start& start) -> std::future<typename decltype(start())::value_type> {
    std::future<typename decltype(start())::value_type> begun;
    test::on_executor(runtime_, [&] { begun = test::begin(runtime_, start()); });
    return begun;
  }
  template <class Start>
  auto run(const Start& start) -> typename decltype(start())::value_type {
    auto begun = begin(start);
    return take(begun);
  }

  base::RealRuntime runtime_;
  const std::shared_ptr<Cluster> cluster_;
};

}  // namespace pawl::test
