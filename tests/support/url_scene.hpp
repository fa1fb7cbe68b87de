#pragma once

#include "base/real_runtime.hpp"
#include "store/registry.hpp"
#include "tests/support/real_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
    return connect(open(url).value(), deadline);
  }
  std::future<Result<void>> connect(std::shared_ptr<store::Store> store,
                                    base::Deadline deadline = base::Deadline::never()) {
    return begin(runtime_, connect_to(std::move(store), deadline));
  }
  /// Why no connection comes about. A loaded machine may need longer than the first deadline to find out.
  std::vector<std::string> failures(const std::vector<std::string>& urls) {
    std::vector<std::shared_ptr<store::Store>> stores;
    for (const std::string& url : urls) stores.push_back(open(url).value());
    std::vector<std::string> messages;
    for (auto wait = std::chrono::milliseconds(500);; wait *= 2) {
      messages = failures_within(stores, wait);
      const auto is_vague = [](const std::string& message) { return message.ends_with("no connection in time"); };
      if (wait > std::chrono::seconds(30) || std::none_of(messages.begin(), messages.end(), is_vague)) return messages;
    }
  }

  base::RealRuntime runtime_;

 private:
  std::vector<std::string> failures_within(const std::vector<std::shared_ptr<store::Store>>& stores,
                                           std::chrono::milliseconds wait) {
    std::vector<std::future<Result<void>>> connecting;
    const base::Deadline soon = base::Deadline::in(runtime_.now(), wait);
    for (const auto& store : stores) connecting.push_back(connect(store, soon));
    std::vector<std::string> messages;
    for (auto& one : connecting) {
      const Result<void> connected = take(one);
      messages.push_back(connected ? "connected" : connected.error().message);
    }
    return messages;
  }
  /// Which keeps the store until it is done.
  static base::awaitable<Result<void>> connect_to(std::shared_ptr<store::Store> store, base::Deadline deadline) {
    Result<void> connected = co_await store->connect(deadline);
    co_return connected;
  }
};

}  // namespace pawl::test
