#include "base/telemetry.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
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

TEST(TelemetryTest, AnObserverThatIsTooSlowMissesEventsButNoLossAndIsToldSo) {
  SimWorld world{1};
  std::vector<Event> heard;
  Telemetry telemetry(world.add_process(), [&](const Event& event) { heard.push_back(event); });
  constexpr std::size_t more = 7;
  for (std::size_t i = 0; i < Telemetry::most_waiting + more; ++i) telemetry.report(named("granted"));
  Event loss = named("lost");
  loss.type = EventType::lost;
  telemetry.report(loss);
  world.run_for(0s);
  EXPECT_EQ(telemetry.snapshot().events_dropped, more);
  const auto count = [&](EventType type) {
    return std::count_if(heard.begin(), heard.end(), [&](const Event& event) { return event.type == type; });
  };
  EXPECT_EQ(count(EventType::granted), static_cast<std::ptrdiff_t>(Telemetry::most_waiting));
  EXPECT_EQ(count(EventType::lost), 1);
  ASSERT_EQ(count(EventType::dropped), 1);
  telemetry.report(named("again"));
  world.run_for(0s);
  EXPECT_EQ(heard.back().name, "again");
  EXPECT_EQ(count(EventType::dropped), 1) << "told once";
}

TEST(TelemetryTest, AfterItsEndTheObserverIsNotCalled) {
  SimWorld world{1};
  SimProcess& process = world.add_process();
  std::vector<std::string> heard;
  Telemetry telemetry(process, [&](const Event& event) { heard.push_back(event.name); });
  telemetry.report(named("before"));
  std::optional<bool> finished;
  const auto finish = [&]() -> awaitable<void> { finished = co_await telemetry.finish(Time::max()); };
  spawn(process, finish());
  world.run_for(0s);
  EXPECT_EQ(finished, true);
  telemetry.report(named("after"));
  world.run_for(0s);
  EXPECT_EQ(heard, (std::vector<std::string>{"before"}));
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
  Counter* counters[] = {&telemetry.granted,
                         &telemetry.busy,
                         &telemetry.timed_out,
                         &telemetry.cancelled,
                         &telemetry.failed,
                         &telemetry.released,
                         &telemetry.lost,
                         &telemetry.jeopardies,
                         &telemetry.undone,
                         &telemetry.local_passes,
                         &telemetry.store_claims,
                         &telemetry.renewals,
                         &telemetry.renewal_failures,
                         &telemetry.sessions_opened,
                         &telemetry.events_dropped};
  std::uint64_t value = 0;
  for (Counter* counter : counters) *counter = ++value;
  telemetry.wait.add(1us);
  telemetry.hold.add(1us);
  telemetry.hold.add(1us);
  const Metrics now = telemetry.snapshot();
  const std::vector<std::uint64_t> seen = {
      now.granted,      now.busy,     now.timed_out,        now.cancelled,       now.failed,
      now.released,     now.lost,     now.jeopardies,       now.undone,          now.local_passes,
      now.store_claims, now.renewals, now.renewal_failures, now.sessions_opened, now.events_dropped};
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
  EXPECT_EQ(now.wait.count, 1u);
  EXPECT_EQ(now.hold.count, 2u);
}

}  // namespace
}  // namespace pawl::base
