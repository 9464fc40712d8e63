// Tokens that are drawn from rows of scores.
#pragma once

#include "runtime/plan/steps/fields.h"
#include "runtime/sampling/token_weights.h"

namespace smelt {

/// A token of each of `rows` rows of `count` f32 scores, which begin `row_stride` apart. Row i of numbers
/// (temperature, top_p, min_p) and of integers (top_k, seed, position, index) has its settings: DrawSettings
/// in runtime/sampling/token_weights.h. A temperature of 0 takes the first of the largest scores. The second
/// result is the log of the token's probability by the softmax of the unchanged scores. The results are -1
/// and NaN where a score is NaN or no score is above -infinity.
struct SampleStep {
  BufferRef scores, numbers, integers, tokens, log_probabilities;  // the results are dense
  Dim rows, count, row_stride, numbers_stride, integers_stride;
};

template <>
struct StepKind<SampleStep> {
  static constexpr std::string_view
      name = "sample",
      keyword = "sample",
      text =
          "$scores($row_stride), $numbers($numbers_stride), $integers($integers_stride) -> $tokens, "
          "$log_probabilities of $rows x $count",
      description = "a token of $count words for each of $rows rows";
  static constexpr bool by_template = true;
};
template <typename V, Is<SampleStep> T>
void visit_fields(V& v, T& x) {
  const auto rows = [&](const Dim& stride, const Dim& count) {
    return std::vector<Walk>{{x.rows, stride}, {count}};
  };
  v("scores", x.scores, [&] { return role::reads(DType::f32, rows(x.row_stride, x.count)); });
  v("numbers", x.numbers, [&] { return role::reads(DType::f32, rows(x.numbers_stride, 3)); });
  v("integers", x.integers, [&] { return role::reads(DType::i32, rows(x.integers_stride, 4)); });
  v("tokens", x.tokens, [&] { return role::writes(DType::i32, {{x.rows}}, {{-1, x.count - 1}}); });
  v("log_probabilities", x.log_probabilities, [&] { return role::writes(DType::f32, {{x.rows}}); });
  v("rows", x.rows, role::extent()), v("count", x.count, role::extent(0, kMostWords));
  v("row_stride", x.row_stride, role::stride), v("numbers_stride", x.numbers_stride, role::stride);
  v("integers_stride", x.integers_stride, role::stride);
}

}  // namespace smelt
