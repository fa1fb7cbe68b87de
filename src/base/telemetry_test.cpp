#include "base/telemetry.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

Event named(std::string name) {
  Event event;
  event.type = EventType::granted;
  event.name = std::move(name);
  return event;
}

TEST(LatenciesTest, ABucketHoldsWhatIsBelowItsEdge) {
  Latencies latencies;
  latencies.add(0ns);
  latencies.add(999ns);
  latencies.add(1us);
  latencies.add(2us);
  latencies.add(3us);
  latencies.add(4us);
  const Histogram seen = latencies.snapshot();
  EXPECT_EQ(seen.buckets[0], 2u) << "below 1 us";
  EXPECT_EQ(seen.buckets[1], 1u) << "below 2 us";
  EXPECT_EQ(seen.buckets[2], 2u) << "below 4 us";
  EXPECT_EQ(seen.buckets[3], 1u) << "below 8 us";
  EXPECT_EQ(seen.count, 6u);
  EXPECT_EQ(seen.total, 10us + 999ns);
}

TEST(LatenciesTest, TheLastBucketHoldsAllOthers) {
  Latencies latencies;
  latencies.add(24h * 365 * 100);
  EXPECT_EQ(latencies.snapshot().buckets[Histogram::size - 1], 1u);
}

TEST(LatenciesTest, SeveralThreadsAddWithoutLosingAny) {
  Latencies latencies;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) latencies.add(1us);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(latencies.snapshot().count, 40'000u);
  EXPECT_EQ(latencies.snapshot().total, 40ms);
}

TEST(TelemetryTest, TheObserverHearsEventsInOrderOnTheNotifier) {
  SimWorld world{1};
  SimProcess& process = world.add_process();
  std::vector<std::string> heard;
  Telemetry telemetry(process, [&](const Event& event) { heard.push_back(event.name); });
  EXPECT_TRUE(telemetry.observed());
  telemetry.report(named("a"));
  telemetry.report(named("b"));
  EXPECT_TRUE(heard.empty()) << "never where it is reported";
  world.run_for(0s);
  EXPECT_EQ(heard, (std::vector<std::string>{"a", "b"}));
}

TEST(TelemetryTest, AnEventOutlivesTheClient) {
  SimWorld world{1};
  SimProcess& process = world.add_process();
  std::vector<std::string> heard;
  {
    Telemetry telemetry(process, [&](const Event& event) { heard.push_back(event.name); });
    telemetry.report(named("last words"));
  }
  world.run_for(0s);
  EXPECT_EQ(heard, (std::vector<std::string>{"last words"}));
}

TEST(TelemetryTest, WithoutAnObserverNothingIsReported) {
  SimWorld world{1};
  SimProcess& process = world.add_process();
  Telemetry telemetry(process, {});
  EXPECT_FALSE(telemetry.observed());
  telemetry.report(named("a"));
  world.run_for(0s);
  EXPECT_EQ(world.steps(), 0u);
}

TEST(TelemetryTest, EveryCounterHasItsPlaceInTheSnapshot) {
  SimWorld world{1};
  Telemetry telemetry(world.add_process(), {});
  Counter* counters[] = {
      &telemetry.granted,          &telemetry.busy,           &telemetry.timed_out,    &telemetry.cancelled,
      &telemetry.failed,           &telemetry.released,       &telemetry.lost,         &telemetry.jeopardies,
      &telemetry.undone,           &telemetry.local_passes,   &telemetry.store_claims, &telemetry.renewals,
      &telemetry.renewal_failures, &telemetry.sessions_opened};
  std::uint64_t value = 0;
  for (Counter* counter : counters) *counter = ++value;
  telemetry.wait.add(1us);
  telemetry.hold.add(1us);
  telemetry.hold.add(1us);
  const Metrics now = telemetry.snapshot();
  const std::vector<std::uint64_t> seen = {now.granted,          now.busy,           now.timed_out,    now.cancelled,
                                           now.failed,           now.released,       now.lost,         now.jeopardies,
                                           now.undone,           now.local_passes,   now.store_claims, now.renewals,
                                           now.renewal_failures, now.sessions_opened};
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
  EXPECT_EQ(now.wait.count, 1u);
  EXPECT_EQ(now.hold.count, 2u);
}

}  // namespace
}  // namespace pawl::base
