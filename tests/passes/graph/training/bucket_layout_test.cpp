#include "passes/graph/training/bucket_layout.h"

#include <gtest/gtest.h>

#include <numeric>

namespace smelt {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;

/// Llama 8B: a table, per layer q with k and v, o, gate with up, and down, and in the end gains.
std::vector<int64_t> runs_of_llama() {
  std::vector<int64_t> rows = {128256};
  for (int layer = 0; layer < 32; ++layer) rows.insert(rows.end(), {6144, 4096, 28672, 14336});
  for (int64_t& run : rows) run *= 4096;
  rows.push_back(65 * 4096);
  return rows;
}

TEST(BucketLayout, LayersBeginWhereBucketsDo) {
  const std::vector<int64_t> runs = runs_of_llama();
  const int64_t elements = std::accumulate(runs.begin(), runs.end(), int64_t{0});
  for (const int64_t ranks : {2, 4, 8}) {
    const BucketLayout layout = layout_in_buckets(runs, {.most = kMost, .ranks = ranks});
    EXPECT_LE(layout.size(), kMost);
    EXPECT_EQ(layout.rows % ranks, 0);
    for (size_t layer = 0; layer < 32; ++layer)
      EXPECT_EQ(layout.begins[1 + 4 * layer] % layout.size(), 0) << ranks << " ranks, layer " << layer;
    EXPECT_LT(layout.buckets * layout.size(), elements + elements / 200) << "little is padding";
    EXPECT_LE(layout.buckets, elements / kMost + 3) << "buckets are large";
  }
}

TEST(BucketLayout, RunsStandInOrderAtAlignedPlaces) {
  for (const int64_t most : {100, 900, 5000})
    for (const int64_t ranks : {1, 3, 8}) {
      const std::vector<int64_t> runs = {77, 1200, 7, 640, 2048, 1};
      const BucketLayout layout = layout_in_buckets(runs, {.most = most, .ranks = ranks});
      int64_t end = 0;
      for (size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(layout.begins[i] % 16, 0);
        EXPECT_GE(layout.begins[i], end);
        end = layout.begins[i] + runs[i];
      }
      EXPECT_LE(end, layout.buckets * layout.size());
    }
}

TEST(BucketLayout, WhatFitsInOneBucketIsDense) {
  const BucketLayout layout = layout_in_buckets({100, 28, 300}, {.most = 1000, .ranks = 2});
  EXPECT_EQ(layout.buckets, 1);
  EXPECT_EQ(layout.begins, (std::vector<int64_t>{0, 112, 144}));
  EXPECT_EQ(layout.size(), 512);
}

TEST(BucketLayout, OfNothingHasNoRows) {
  EXPECT_EQ(layout_in_buckets({}, {.most = 1000, .ranks = 2}).size(), 0);
}

}  // namespace
}  // namespace smelt
