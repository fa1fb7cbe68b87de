#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

/// What a store's server still has, seen past pawl: so a test can tell what it leaves behind.
namespace pawl::test {

class EtcdServer;

/// Every record, named so that a reader of a failed test knows where to look. Left out is what the store declares:
/// - what it keeps for good: the epoch, counters, and the folders of ZooKeeper that are the same for all locks;
/// - what ends by itself within the minute: locks in lock-delay, the history of an election.
/// So after a test, when all clients are closed, the census is that from before the test.
/// To write one for another server: list all of it, and drop what stands in the table of its store's page.
using Census = std::function<std::set<std::string>()>;

Census redis_census(std::uint16_t port);
/// Of Redlock's nodes, under a prefix. Tombstones end within the minute, and what a node knows of absent ones by itself.
Census redlock_census(std::vector<std::uint16_t> ports, std::string prefix);
/// The rows in the tables of the database `pawl`.
Census mysql_census(std::uint16_t port);
/// The records in the database of a folder, while this process has the folder open.
Census file_census(std::string folder);
/// Below `path`, which no other test uses. `servers`: "127.0.0.1:2181,127.0.0.1:2182".
Census zookeeper_census(std::string servers, std::string path);
/// The keys that begin so, and the leases. `server` outlives it.
Census etcd_census(const EtcdServer& server, std::string prefix);

}  // namespace pawl::test
