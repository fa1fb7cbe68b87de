#include "store/etcd/requests.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

void require_created(pb::TxnRequest& txn, const std::string& key, std::int64_t revision) {
  pb::Compare& compare = *txn.add_compare();
  compare.set_result(pb::Compare::EQUAL);
  compare.set_target(pb::Compare::CREATE);
  compare.set_key(key);
  compare.set_create_revision(revision);
}

void require_unchanged(pb::TxnRequest& txn, const std::string& key, std::int64_t mod_revision) {
  pb::Compare& compare = *txn.add_compare();
  compare.set_result(pb::Compare::EQUAL);
  compare.set_target(pb::Compare::MOD);
  compare.set_key(key);
  compare.set_mod_revision(mod_revision);
}

void require_value(pb::TxnRequest& txn, const std::string& key, const std::string& value) {
  pb::Compare& compare = *txn.add_compare();
  compare.set_result(pb::Compare::EQUAL);
  compare.set_target(pb::Compare::VALUE);
  compare.set_key(key);
  compare.set_value(value);
}

void require_none(pb::TxnRequest& txn, const KeyRange& range) {
  require_created(txn, range.begin, 0);
  txn.mutable_compare(txn.compare_size() - 1)->set_range_end(range.end);
}

void require_none_newer(pb::TxnRequest& txn, const KeyRange& range, std::int64_t revision) {
  require_unchanged(txn, range.begin, revision + 1);
  pb::Compare& compare = *txn.mutable_compare(txn.compare_size() - 1);
  compare.set_result(pb::Compare::LESS);
  compare.set_range_end(range.end);
}

pb::RequestOp getting(const std::string& key) {
  pb::RequestOp op;
  op.mutable_request_range()->set_key(key);
  return op;
}

pb::RequestOp listing(const KeyRange& range) {
  pb::RequestOp op;
  pb::RangeRequest& request = *op.mutable_request_range();
  request.set_key(range.begin);
  request.set_range_end(range.end);
  request.set_sort_order(pb::RangeRequest::ASCEND);
  request.set_sort_target(pb::RangeRequest::CREATE);
  return op;
}

namespace {

pb::RequestOp some_of(const KeyRange& range, std::int64_t count, pb::RangeRequest::SortOrder order) {
  pb::RequestOp op = listing(range);
  pb::RangeRequest& request = *op.mutable_request_range();
  request.set_sort_order(order);
  request.set_limit(count);
  request.set_keys_only(true);
  return op;
}

}  // namespace

pb::RequestOp last_made(const KeyRange& range, std::int64_t count) {
  return some_of(range, count, pb::RangeRequest::DESCEND);
}

pb::RequestOp first_made(const KeyRange& range, std::int64_t count) {
  return some_of(range, count, pb::RangeRequest::ASCEND);
}

pb::RequestOp putting(const std::string& key, const std::string& value, std::int64_t lease) {
  pb::RequestOp op;
  pb::PutRequest& request = *op.mutable_request_put();
  request.set_key(key);
  request.set_value(value);
  request.set_lease(lease);
  return op;
}

pb::RequestOp rewriting(const std::string& key, const std::string& value) {
  pb::RequestOp op = putting(key, value, 0);
  op.mutable_request_put()->set_ignore_lease(true);
  return op;
}

pb::RequestOp moving(const std::string& key, std::int64_t lease) {
  pb::RequestOp op = putting(key, "", lease);
  op.mutable_request_put()->set_ignore_value(true);
  return op;
}

pb::RequestOp erasing(const std::string& key) {
  pb::RequestOp op;
  op.mutable_request_delete_range()->set_key(key);
  return op;
}

pb::RequestOp nested(pb::TxnRequest txn) {
  pb::RequestOp op;
  *op.mutable_request_txn() = std::move(txn);
  return op;
}

void on_success(pb::TxnRequest& txn, pb::RequestOp op) { *txn.add_success() = std::move(op); }

void on_failure(pb::TxnRequest& txn, pb::RequestOp op) { *txn.add_failure() = std::move(op); }

namespace {

void add_leases(const pb::TxnRequest& txn, std::set<std::int64_t>& leases) {
  for (const auto* ops : {&txn.success(), &txn.failure()}) {
    for (const pb::RequestOp& op : *ops) {
      if (op.has_request_txn()) add_leases(op.request_txn(), leases);
      if (op.has_request_put() && op.request_put().lease() != 0) leases.insert(op.request_put().lease());
    }
  }
}

}  // namespace

std::set<std::int64_t> leases_of(const pb::TxnRequest& txn) {
  std::set<std::int64_t> leases;
  add_leases(txn, leases);
  return leases;
}

bool only_reads(const pb::TxnRequest& txn) {
  const auto reads = [](const pb::RequestOp& op) {
    return op.has_request_range() || (op.has_request_txn() && only_reads(op.request_txn()));
  };
  return std::all_of(txn.success().begin(), txn.success().end(), reads) &&
         std::all_of(txn.failure().begin(), txn.failure().end(), reads);
}

const google::protobuf::RepeatedPtrField<pb::KeyValue>& found(const pb::TxnResponse& response, int i) {
  static const pb::RangeResponse nothing;
  return (i < response.responses_size() ? response.responses(i).response_range() : nothing).kvs();
}

const pb::KeyValue* found_one(const pb::TxnResponse& response, int i) {
  const auto& all = found(response, i);
  return all.empty() ? nullptr : &all.Get(0);
}

}  // namespace pawl::store::etcd
