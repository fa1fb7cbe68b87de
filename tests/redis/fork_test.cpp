// fork() beside a Redis client that holds and waits: its connections are the parent's, and stay so.

#include "tests/process/child.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Exit;
using test::in_child;

constexpr auto long_enough = 60s;

class RedisFork : public testing::TestWithParam<std::string> {
 protected:
  static std::string prefix() {
    static int prefixes = 0;
    return "{fork-" + std::to_string(++prefixes) + "}:";
  }
  std::string url(std::uint16_t port) const {
    return "redis://127.0.0.1:" + std::to_string(port) + "?prefix=" + prefix_ + "&scheme=" + GetParam();
  }
  /// Whether the parent's connections still speak, listen and are the same ones.
  void expect_that_the_parent_goes_on() {
    EXPECT_TRUE(hold_->valid());
    EXPECT_EQ(other_->mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_TRUE(client_->mutex("more").acquire({.wait = long_enough})) << "a request, and its answer";
    EXPECT_TRUE(other_->revoke("job"));
    EXPECT_TRUE(eventually([&] { return hold_->release_requested().stop_requested(); }))
        << "news that nobody asked for";
    EXPECT_EQ(proxy_.accepted(), accepted_) << "nobody had to connect again";
  }

  test::RedisServer server_;
  const std::string prefix_ = prefix();
  test::Proxy proxy_{server_.port(), test::redis_framing({})};
  std::unique_ptr<Client> client_ = std::make_unique<Client>(url(proxy_.port()));
  std::unique_ptr<Client> other_ = std::make_unique<Client>(url(server_.port()));
  std::unique_ptr<Mutex> job_ = std::make_unique<Mutex>(client_->mutex("job"));
  std::unique_ptr<Hold> hold_ = std::make_unique<Hold>(job_->acquire().value());
  const std::size_t accepted_ = proxy_.accepted();
};

TEST_P(RedisFork, TheChildsHandlesAreInertAndTheParentKeepsItsLock) {
  const int code = in_child([&] {
    if (job_->acquire().code() != Errc::closed) return 1;
    if (job_->try_acquire().code() != Errc::closed) return 2;
    if (hold_->valid()) return 3;
    if (hold_->release().code() != Errc::closed) return 4;
    if (client_->inspect("job").code() != Errc::closed) return 5;
    if (client_->revoke("job").code() != Errc::closed) return 6;
    if (client_->raise_epoch().code() != Errc::closed) return 7;
    if (client_->close().code() != Errc::closed) return 8;
    return 0;
  });
  EXPECT_EQ(code, 0);
  expect_that_the_parent_goes_on();
}

TEST_P(RedisFork, TheChildsDestructorsDoNothing) {
  for (const Exit how : {Exit::quickly, Exit::fully}) {
    const int code = in_child(
        [&] {
          hold_.reset();
          job_.reset();
          client_.reset();  // the last handle would end the session
          other_.reset();
          return 0;
        },
        how);
    EXPECT_EQ(code, 0);
  }
  expect_that_the_parent_goes_on();
}

TEST_P(RedisFork, TheChildMayUseAClientOfItsOwn) {
  const int code = in_child([&] {
    hold_.reset();
    job_.reset();
    client_.reset();
    Client own(url(server_.port()));
    if (own.mutex("job").try_acquire().code() != Errc::busy) return 1;
    Hold hold = own.mutex("child's").acquire({.wait = 30s}).value();
    if (!hold.valid()) return 2;
    if (own.inspect("child's").value().holders.at(0).owner.pid != ::getpid()) return 3;
    return hold.release() ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
  expect_that_the_parent_goes_on();
}

TEST_P(RedisFork, AWaitingParentIsStillServed) {
  auto waiting = std::async(std::launch::async, [&] { return other_->mutex("job").acquire({.wait = long_enough}); });
  ASSERT_TRUE(eventually([&] { return client_->inspect("job").value().waiters.size() == 1; }));
  EXPECT_EQ(in_child([&] {
              other_.reset();
              client_.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(hold_->release());
  EXPECT_TRUE(waiting.get());
}

INSTANTIATE_TEST_SUITE_P(Schemes, RedisFork, testing::Values("queue", "simple", "redisson"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pawl
