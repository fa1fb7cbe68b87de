#include "store/etcd/status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::store::etcd {
namespace {

using Code = StatusCode;
using Next = Verdict::Next;

enum class Applied : std::uint8_t { never, maybe };

struct Case {
  Code code;
  std::string message;
  Next next;
  Errc errc;
  Applied applied;
};

// The sentences are etcd's (api/v3rpc/rpctypes), gRPC's and Envoy's.
TEST(EtcdStatus, EachStatusHasItsMeaning) {
  const std::vector<Case> cases{
      {Code::unauthenticated, "etcdserver: invalid auth token", Next::log_in, Errc::permission_denied, Applied::never},
      {Code::invalid_argument, "etcdserver: revision of auth store is old", Next::log_in, Errc::permission_denied,
       Applied::never},
      {Code::invalid_argument, "etcdserver: user name is empty", Next::log_in, Errc::permission_denied, Applied::never},
      {Code::invalid_argument, "etcdserver: authentication failed, invalid user ID or password", Next::give_up,
       Errc::permission_denied, Applied::never},
      {Code::failed_precondition, "etcdserver: user name not found", Next::give_up, Errc::permission_denied,
       Applied::never},
      {Code::permission_denied, "etcdserver: permission denied", Next::give_up, Errc::permission_denied,
       Applied::never},
      {Code::invalid_argument, "etcdserver: request is too large", Next::give_up, Errc::invalid_argument,
       Applied::never},
      {Code::out_of_range, "etcdserver: too large lease TTL", Next::give_up, Errc::invalid_argument, Applied::never},
      {Code::failed_precondition, "etcdserver: lease already exists", Next::give_up, Errc::invalid_argument,
       Applied::never},
      {Code::not_found, "etcdserver: requested lease not found", Next::give_up, Errc::lost, Applied::never},
      {Code::not_found, "etcdserver: member not found", Next::give_up, Errc::invalid_argument, Applied::never},
      {Code::unimplemented, "unknown service etcdserverpb.KV", Next::give_up, Errc::unsupported, Applied::never},
      {Code::resource_exhausted, "grpc: received message larger than max (2097199 vs. 2097152)", Next::give_up,
       Errc::invalid_argument, Applied::never},
      {Code::resource_exhausted, "etcdserver: too many requests", Next::give_up, Errc::overloaded, Applied::never},
      {Code::resource_exhausted, "etcdserver: mvcc: database space exceeded", Next::give_up, Errc::overloaded,
       Applied::maybe},
      {Code::unavailable, "etcdserver: no leader", Next::elsewhere, Errc::store_unavailable, Applied::never},
      {Code::unavailable, "etcdserver: not capable", Next::elsewhere, Errc::store_unavailable, Applied::never},
      {Code::unavailable, "etcdserver: rpc not supported for learner", Next::elsewhere, Errc::store_unavailable,
       Applied::never},
      {Code::unavailable, "etcdserver: leader changed", Next::again, Errc::store_unavailable, Applied::maybe},
      {Code::unavailable, "etcdserver: request timed out", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::unavailable, "etcdserver: request timed out, possibly due to previous leader failure", Next::elsewhere,
       Errc::store_unavailable, Applied::maybe},
      {Code::unavailable, "upstream connect error or disconnect/reset before headers", Next::elsewhere,
       Errc::store_unavailable, Applied::maybe},
      {Code::data_loss, "etcdserver: corrupt cluster", Next::give_up, Errc::store_unavailable, Applied::maybe},
      {Code::cancelled, "context canceled", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::unknown, "raft proposal dropped", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::deadline_exceeded, "context deadline exceeded", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::aborted, "", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::already_exists, "", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
      {Code::internal, "", Next::elsewhere, Errc::store_unavailable, Applied::maybe},
  };
  for (const Case& one : cases) {
    const Verdict verdict = verdict_of({one.code, one.message});
    EXPECT_EQ(verdict.next, one.next) << one.message;
    EXPECT_EQ(verdict.code, one.errc) << one.message;
    EXPECT_EQ(verdict.maybe_applied, one.applied == Applied::maybe) << one.message;
  }
}

TEST(EtcdStatus, WhatTheServerHasNotBegunIsAskedElsewhere) {
  const Verdict verdict = verdict_of({Code::internal, "", true});
  EXPECT_EQ(verdict.next, Next::elsewhere);
  EXPECT_FALSE(verdict.maybe_applied);
}

TEST(EtcdStatus, ANumberThatIsNoStatusIsUnknown) {
  EXPECT_EQ(read_status_code("0"), Code::ok);
  EXPECT_EQ(read_status_code("16"), Code::unauthenticated);
  for (const char* text : {"", "17", "-1", "256", "1x", "x"}) EXPECT_EQ(read_status_code(text), Code::unknown) << text;
}

TEST(EtcdStatus, HttpStatusesStandForStatusesOfGrpc) {
  EXPECT_EQ(code_of_http(400), Code::internal);
  EXPECT_EQ(code_of_http(401), Code::unauthenticated);
  EXPECT_EQ(code_of_http(403), Code::permission_denied);
  EXPECT_EQ(code_of_http(404), Code::unimplemented);
  for (const int busy : {429, 502, 503, 504}) EXPECT_EQ(code_of_http(busy), Code::unavailable) << busy;
  for (const int other : {200, 302, 500}) EXPECT_EQ(code_of_http(other), Code::unknown) << other;
}

TEST(EtcdStatus, ResetsStandForStatusesOfGrpc) {
  EXPECT_EQ(status_of_reset(7).code, Code::unavailable);  // REFUSED_STREAM
  EXPECT_TRUE(status_of_reset(7).unprocessed);
  EXPECT_EQ(status_of_reset(8).code, Code::cancelled);
  EXPECT_EQ(status_of_reset(11).code, Code::resource_exhausted);
  EXPECT_EQ(status_of_reset(12).code, Code::permission_denied);
  for (const std::uint32_t other : {0U, 1U, 2U, 3U, 99U}) {
    EXPECT_EQ(status_of_reset(other).code, Code::internal) << other;
    EXPECT_FALSE(status_of_reset(other).unprocessed) << other;
  }
}

TEST(EtcdStatus, MessagesArePercentEncoded) {
  EXPECT_EQ(read_status_message("no leader"), "no leader");
  EXPECT_EQ(read_status_message("100%25 %C3%A4"), "100% \xC3\xA4");
  for (const char* broken : {"%", "%2", "%zz", "a%2"}) EXPECT_EQ(read_status_message(broken), broken);
}

}  // namespace
}  // namespace pawl::store::etcd
