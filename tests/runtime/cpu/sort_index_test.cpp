#include "runtime/cpu/library_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace smelt {
namespace {

void check(const std::vector<int32_t>& indices, int32_t rows) {
  std::vector<int32_t> expected;
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] >= 0 && indices[i] < rows) expected.push_back(static_cast<int32_t>(i));
  std::stable_sort(expected.begin(), expected.end(),
                   [&](int32_t a, int32_t b) { return indices[a] < indices[b]; });
  std::vector<int32_t> permutation(indices.size(), -7), begins(static_cast<size_t>(rows) + 1, -7);
  sort_index(indices.data(), static_cast<int64_t>(indices.size()), rows, permutation.data(), begins.data());
  EXPECT_EQ(begins.front(), 0);
  EXPECT_EQ(begins.back(), static_cast<int32_t>(expected.size()));
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t i = begins[r]; i < begins[r + 1]; ++i) EXPECT_EQ(indices[permutation[i]], r);
  permutation.resize(expected.size());
  EXPECT_EQ(permutation, expected);
}

TEST(SortIndex, IsStableAndLeavesOutWhatIsOutside) {
  std::mt19937 random(1);
  for (const int count : {0, 1, 3, 31, 33, 197, 777})
    for (const int32_t rows : {0, 1, 3, 33, 50257}) {
      std::vector<int32_t> indices(static_cast<size_t>(count));
      for (int32_t& i : indices) i = static_cast<int32_t>(random() % static_cast<uint32_t>(rows + 3)) - 1;
      check(indices, rows);
    }
  check({5, 5, 5, 5}, 6);
  check({INT32_MAX, INT32_MIN, 0, -1, -100}, 3);
}

}  // namespace
}  // namespace smelt
