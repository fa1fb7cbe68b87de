#pragma once

#include "base/real_runtime.hpp"
#include "store/registry.hpp"
#include "tests/support/real_work.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {

/// What a URL says, as far as it can be seen from outside: in refusals, and in what a server is told first.
class UrlTest : public testing::Test {
 protected:
  Result<std::shared_ptr<store::Store>> open(const std::string& url) {
    return store::open_store(base::Url::parse(url).value(), runtime_);
  }
  std::string refusal(const std::string& url) {
    const auto store = open(url);
    EXPECT_EQ(store.code(), Errc::invalid_argument) << url;
    return store ? "" : store.error().message;
  }
  std::future<Result<void>> connect(const std::string& url, base::Deadline deadline = base::Deadline::never()) {
    return begin(runtime_, connect_to(open(url).value(), deadline));
  }
  /// What comes of them within half a second.
  std::vector<std::string> failures(const std::vector<std::string>& urls) {
    std::vector<std::future<Result<void>>> connecting;
    const base::Deadline soon = base::Deadline::in(runtime_.now(), std::chrono::milliseconds(500));
    for (const std::string& url : urls) connecting.push_back(connect(url, soon));
    std::vector<std::string> messages;
    for (auto& one : connecting) {
      const Result<void> connected = take(one);
      messages.push_back(connected ? "connected" : connected.error().message);
    }
    return messages;
  }

  base::RealRuntime runtime_;

 private:
  /// Which keeps the store until it is done.
  static base::awaitable<Result<void>> connect_to(std::shared_ptr<store::Store> store, base::Deadline deadline) {
    Result<void> connected = co_await store->connect(deadline);
    co_return connected;
  }
};

}  // namespace pawl::test
