// sample: the evaluator, which sorts all words, against the CPU's, which sorts those that matter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate/evaluator.h"
#include "ir/text/text.h"
#include "tests/support/random_sample.h"

namespace smelt {
namespace {

Tensors inputs_of(const test::RandomSample& c) {
  return {{"x", {DType::f32, {c.sizes.rows, c.sizes.count}, {c.scores.begin(), c.scores.end()}}},
          {"n", {DType::f32, {c.sizes.rows, 3}, {c.numbers.begin(), c.numbers.end()}}},
          {"i", {DType::i32, {c.sizes.rows, 4}, {c.integers.begin(), c.integers.end()}}}};
}

void expect_equal(int64_t rows, int64_t count, uint32_t seed) {
  const test::RandomSample c(rows, count, seed);
  const auto module =
      parse_module(fmt::format("graph @g(%x: f32[{0},{1}], %n: f32[{0},3], %i: i32[{0},4]) {{\n"
                               "  %t, %l = sample %x, %n, %i\n  return t = %t, l = %l\n}}\n",
                               rows, count));
  const Tensors expected = evaluate(*module->graphs.front(), inputs_of(c), {}, {}).outputs;
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  std::vector<float> logs(tokens.size());
  sample(c.sizes, c.scores.data(), c.numbers.data(), c.integers.data(), tokens.data(), logs.data());
  for (size_t row = 0; row < tokens.size(); ++row) {
    EXPECT_EQ(tokens[row], expected.at("t").data[row]) << "row " << row << " of " << count << " words";
    const double log = expected.at("l").data[row];
    const bool both_none = std::isnan(log) && std::isnan(logs[row]);
    EXPECT_TRUE(both_none || logs[row] == log || std::abs(logs[row] - log) <= 1e-6 * (1 + std::abs(log)))
        << log << " " << logs[row];
  }
}

TEST(EvaluateSample, ChoosesTheTokensOfTheCpu) {
  uint32_t seed = 0;
  for (const int64_t count : {1, 2, 3, 5, 31, 33, 100, 197, 777, 3001}) expect_equal(1000, count, ++seed);
  expect_equal(6, 128256, ++seed);
}

}  // namespace
}  // namespace smelt
