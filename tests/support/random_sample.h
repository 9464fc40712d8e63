// Random operands of a sampling step (runtime/plan/steps/sample.h). Scores include ties, masked tokens,
// infinities and NaN; the settings of the rows are independent of each other.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "runtime/cpu/library_steps.h"

namespace smelt::test {

/// Scores [rows, count], and per row three float settings (temperature, top_p, min_p) in `numbers` and four
/// in `integers` (top_k, seed, position, index). `gap` unused elements follow each row of scores.
struct RandomSample {
  SampleSizes sizes;
  std::vector<float> scores, numbers;
  std::vector<int32_t> integers;

  RandomSample(int64_t rows, int64_t count, uint32_t seed, int64_t gap = 0) : random_(seed) {
    sizes = {.rows = rows, .count = count, .row_stride = count + gap};
    scores.assign(static_cast<size_t>(rows * sizes.row_stride), -77);
    for (int64_t row = 0; row < rows; ++row) {
      add_scores(scores.data() + row * sizes.row_stride);
      numbers.insert(numbers.end(),
                     {pick({0, 0.3F, 0.7F, 1, 1, 1.5F, 100, 1e-3F}),
                      pick({1, 1, 0.9F, 0.5F, 0.1F, 0, 1e-6F, 0.999F}), pick({0, 0, 0, 0.05F, 0.5F, 1})});
      integers.insert(
          integers.end(),
          {static_cast<int32_t>(pick({0, 0, 1, 2, 5, 50, 1000, 1e6F})), static_cast<int32_t>(random_()),
           static_cast<int32_t>(random_() % 1000), static_cast<int32_t>(random_() % 8)});
    }
  }

 private:
  float pick(std::initializer_list<float> list) { return list.begin()[random_() % list.size()]; }
  float normal() { return normal_(random_); }

  void add_scores(float* row) {
    const uint32_t kind = random_() % 16;
    const float width = pick({0.1F, 1, 2.5F, 6});
    for (int64_t i = 0; i < sizes.count; ++i) row[i] = score(kind, width);
    if (kind == 15 && sizes.count > 0) row[random_() % static_cast<uint32_t>(sizes.count)] = std::nanf("");
  }

  float score(uint32_t kind, float width) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float x = width * normal();
    if (kind == 0) return 1.5F;
    if (kind == 1) return -kInfinity;
    if (kind == 2) return random_() % 97 == 0 ? kInfinity : x;
    if (kind == 3) return x * 1e30F;
    if (kind == 4) return x * 1e-40F;
    if (kind == 5) return random_() % 2 == 0 ? 0.0F : -0.0F;
    if (kind == 6) return static_cast<float>(random_() % 3) - 1;
    if (kind <= 9) return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xFFFF0000U);
    if (kind <= 11) return random_() % 5 == 0 ? x : -kInfinity;
    return x;
  }

  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

}  // namespace smelt::test
