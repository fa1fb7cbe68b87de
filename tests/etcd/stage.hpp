#pragma once

#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }
inline void PrintTo(HoldState state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(const Token& token, std::ostream* out) { *out << token.to_string(); }

/// Where the races of etcd's tests happen.
namespace stage {

using namespace std::chrono_literals;
using test::EtcdCluster;
using test::EtcdMessage;
using test::EtcdOptions;
using test::EtcdRecord;
using test::EtcdServer;
using test::eventually;
using test::Fault;
using test::Proxy;

constexpr auto hang = 120s;

/// For the keys of one test.
inline std::string fresh_prefix() {
  static std::atomic<int> tests = 0;
  return "test-" + std::to_string(++tests) + "/";
}

inline std::string url_at(std::uint16_t port, const std::string& query) {
  return "etcd://127.0.0.1:" + std::to_string(port) + query;
}

inline std::future<Result<Hold>> wait_for(Client client, std::string name, std::stop_token stop = {}) {
  return std::async(std::launch::async, [client, name, stop]() mutable {
    return client.mutex(name, {.local_passes = 0}).acquire({.wait = hang}, stop);
  });
}

inline bool waiters_are(Client& client, const std::string& name, std::size_t count) {
  return eventually([&] {
    const Result<LockView> view = client.inspect(name);
    return view && view->waiters.size() == count;
  });
}

/// Of those below the prefix, the keys of a line, the oldest first: what stands in for their sessions is left out.
inline std::vector<EtcdRecord> line_of(const EtcdServer& server, const std::string& prefix) {
  std::vector<EtcdRecord> line = server.records(prefix + "queue/");
  std::sort(line.begin(), line.end(),
            [](const EtcdRecord& a, const EtcdRecord& b) { return a.create_revision < b.create_revision; });
  return line;
}

/// The lease of each session below the prefix.
inline std::vector<std::int64_t> sessions_of(const EtcdServer& server, const std::string& prefix) {
  std::vector<std::int64_t> leases;
  for (const EtcdRecord& record : server.records(prefix + "sessions/")) leases.push_back(record.lease);
  return leases;
}

}  // namespace stage
}  // namespace pawl
