#include "base/offload.hpp"

#include "base/real_runtime.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

namespace pawl::base {
namespace {

TEST(OffloadTest, WhatMustBeDoneIsDoneWhenThereIsAThreadAgain) {
  RealRuntime runtime;
  std::promise<void> done;
  auto future = done.get_future();
  {
    const test::NoMoreThreads scarce;
    spawn(runtime, offload_when_possible(runtime, "test", [&] { done.set_value(); }));
    EXPECT_EQ(future.wait_for(std::chrono::milliseconds(250)), std::future_status::timeout);
  }
  EXPECT_EQ(future.wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace pawl::base
