#include <pawl/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(HistogramTest, EmptyIsZero) { EXPECT_EQ(Histogram{}.quantile(0.5), 0ns); }

TEST(HistogramTest, AnswersTheUpperEdge) {
  Histogram histogram;
  histogram.buckets[0] = 50;  // below 1 us
  histogram.buckets[3] = 49;  // below 8 us
  histogram.buckets[10] = 1;  // below 1024 us
  EXPECT_EQ(histogram.quantile(0), 1us);
  EXPECT_EQ(histogram.quantile(0.5), 1us);
  EXPECT_EQ(histogram.quantile(0.51), 8us);
  EXPECT_EQ(histogram.quantile(0.99), 8us);
  EXPECT_EQ(histogram.quantile(0.991), 1024us);
  EXPECT_EQ(histogram.quantile(1), 1024us);
}

TEST(HistogramTest, SharesOutsideZeroToOneAreCut) {
  Histogram histogram;
  histogram.buckets[1] = 1;
  histogram.buckets[2] = 1;
  EXPECT_EQ(histogram.quantile(-1), 2us);
  EXPECT_EQ(histogram.quantile(7), 4us);
  EXPECT_EQ(histogram.quantile(std::nan("")), 2us);
}

TEST(HistogramTest, TheLastBucketHasNoUpperEdge) {
  Histogram histogram;
  histogram.buckets[Histogram::size - 2] = 1;
  EXPECT_EQ(histogram.quantile(1), std::chrono::microseconds(std::int64_t{1} << (Histogram::size - 2)));
  histogram.buckets[Histogram::size - 1] = 1;
  EXPECT_EQ(histogram.quantile(1), Duration::max());
}

}  // namespace
}  // namespace pawl
