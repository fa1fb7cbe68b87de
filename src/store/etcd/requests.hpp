#pragma once

#include "etcd.pb.h"
#include "store/etcd/layout.hpp"

#include <cstdint>
#include <set>
#include <string>

/// The parts of etcd's transactions.
namespace pawl::store::etcd {

/// The key was made by that revision; 0: there is no such key.
void require_created(pb::TxnRequest& txn, const std::string& key, std::int64_t revision);
void require_unchanged(pb::TxnRequest& txn, const std::string& key, std::int64_t mod_revision);
void require_value(pb::TxnRequest& txn, const std::string& key, const std::string& value);
void require_none(pb::TxnRequest& txn, const KeyRange& range);
/// Each key that there is has been as it is since that revision.
void require_none_newer(pb::TxnRequest& txn, const KeyRange& range, std::int64_t revision);

pb::RequestOp getting(const std::string& key);
pb::RequestOp listing(const KeyRange& range);
/// The last ones that were made, or the first ones; names only.
pb::RequestOp last_made(const KeyRange& range, std::int64_t count);
pb::RequestOp first_made(const KeyRange& range, std::int64_t count);
pb::RequestOp putting(const std::string& key, const std::string& value, std::int64_t lease);
/// The key is there and keeps its lease.
pb::RequestOp rewriting(const std::string& key, const std::string& value);
/// The key is there and keeps its value.
pb::RequestOp moving(const std::string& key, std::int64_t lease);
pb::RequestOp erasing(const std::string& key);
pb::RequestOp nested(pb::TxnRequest txn);

void on_success(pb::TxnRequest& txn, pb::RequestOp op);
void on_failure(pb::TxnRequest& txn, pb::RequestOp op);

/// All leases on which it may put something.
std::set<std::int64_t> leases_of(const pb::TxnRequest& txn);

/// It changes nothing, whichever branch it takes.
bool only_reads(const pb::TxnRequest& txn);

/// The keys that the i-th part has found.
const google::protobuf::RepeatedPtrField<pb::KeyValue>& found(const pb::TxnResponse& response, int i);
/// The only one, or null.
const pb::KeyValue* found_one(const pb::TxnResponse& response, int i);

}  // namespace pawl::store::etcd
