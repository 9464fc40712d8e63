// Lines through measured sizes, what is derived for other numbers of ranks, and the file that keeps them.
#include "runtime/ranks/collective_rates.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/ranks/rank_rates.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr CollectiveKind kReduce = CollectiveKind::all_reduce, kGather = CollectiveKind::all_gather;

TEST(FitLine, FindsTheLineOfSizesFarApart) {
  std::vector<TimedSize> sizes;
  for (const double bytes : {64e3, 1e6, 16e6, 256e6}) sizes.push_back({bytes, 30e-6 + bytes * 3e-9});
  const CollectiveTime time = fit_line(sizes);
  EXPECT_NEAR(time.latency, 30e-6, 1e-9);
  EXPECT_NEAR(time.seconds_per_byte, 3e-9, 1e-13);
}

TEST(FitLine, CountsRelativeErrors) {
  const std::vector<TimedSize> sizes = {{1e3, 10e-6}, {2e3, 11e-6}, {1e9, 1.3}};
  EXPECT_NEAR(fit_line(sizes).seconds(1e3), 10e-6, 1e-6) << "the large one does not drown the small ones";
}

TEST(FitLine, HasNoNegativeTerms) {
  const std::vector<TimedSize> bent = {{1e3, 1e-7}, {1e6, 1e-3}, {2e6, 4e-3}};
  EXPECT_GE(fit_line(bent).latency, 0);
  const std::vector<TimedSize> falling = {{1e3, 3e-6}, {1e6, 1e-6}};
  EXPECT_EQ(fit_line(falling).seconds_per_byte, 0);
  EXPECT_GT(fit_line(falling).latency, 0);
  const std::vector<TimedSize> one = {{1e6, 2e-3}};
  EXPECT_DOUBLE_EQ(fit_line(one).seconds(1e6), 2e-3);
}

TEST(CollectiveRates, AssumesARing) {
  const CollectiveRates rates({}, {20e-6, 1e9});
  EXPECT_FALSE(rates.is_measured());
  EXPECT_DOUBLE_EQ(rates.time(kReduce, 2).seconds(1e6), 20e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(rates.time(kGather, 4).seconds(1e6), 60e-6 + 0.75e-3);
  EXPECT_DOUBLE_EQ(rates.time(kReduce, 1).seconds(1e6), 0);
}

TEST(CollectiveRates, TakesTheNearestRowAsARingChanges) {
  const CollectiveRates rates({{kReduce, 2, {10e-6, 1e-9}}, {kReduce, 8, {100e-6, 4e-9}}}, {1, 1});
  EXPECT_EQ(rates.time(kReduce, 2), (CollectiveTime{10e-6, 1e-9}));
  EXPECT_DOUBLE_EQ(rates.time(kReduce, 4).latency, 30e-6) << "3 steps twice in place of one";
  EXPECT_DOUBLE_EQ(rates.time(kReduce, 4).seconds_per_byte, 1.5e-9);
  EXPECT_DOUBLE_EQ(rates.time(kReduce, 16).latency, 100e-6 * 15 / 7);
  EXPECT_DOUBLE_EQ(rates.time(kGather, 2).latency, 1) << "no row of the kind";
}

RankRates example_rates(int64_t ranks) {
  return {ranks, {{kReduce, 2, {1.5e-5, 2e-9}}, {kGather, ranks, {3e-5, 1e-9}}}, 2e10, 1e11, 5e10};
}

TEST(RankRates, AreReadAsTheyWereWritten) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(read_rank_rates(directory.path(), "a place", 2));
  for (const int64_t ranks : {2, 8})
    EXPECT_TRUE(write_rank_rates(directory.path(), "a place", example_rates(ranks)));
  EXPECT_EQ(read_rank_rates(directory.path(), "a place", 2), example_rates(2));
  EXPECT_EQ(read_rank_rates(directory.path(), "a place", 3), example_rates(2)) << "the nearest number";
  EXPECT_EQ(read_rank_rates(directory.path(), "a place", 16), example_rates(8));
  EXPECT_FALSE(read_rank_rates(directory.path(), "another place", 2));
  EXPECT_FALSE(write_rank_rates({}, "a place", example_rates(2)));
}

TEST(RankRates, DamagedFilesAreNone) {
  const TemporaryDirectory directory;
  const std::string whole = to_json(example_rates(2));
  for (
      const std::string& text :
      {std::string(), std::string("[]"), std::string("{}"), whole.substr(0, whole.size() / 2),
       std::string(
           R"({"ranks": 2, "collectives": 3, "copy_bytes_per_second": 0, "wide_flops": 0, "narrow_flops": 0})"),
       std::string(
           R"({"ranks": -2, "collectives": [], "copy_bytes_per_second": 0, "wide_flops": 0, "narrow_flops": 0})"),
       std::string(
           R"({"ranks": 2, "collectives": [], "copy_bytes_per_second": -1, "wide_flops": 0, "narrow_flops": 0})"),
       std::string(
           R"({"ranks": 2, "collectives": [{"kind": "shout", "ranks": 2, "latency": 0, "seconds_per_byte": 0}],)"
           R"( "copy_bytes_per_second": 0, "wide_flops": 0, "narrow_flops": 0})")}) {
    EXPECT_FALSE(parse_rank_rates(text)) << text;
    std::ofstream(rank_rates_file(directory.path(), "p", 2)) << text;
    EXPECT_FALSE(read_rank_rates(directory.path(), "p", 2)) << text;
  }
}

}  // namespace
}  // namespace smelt
