// The step that draws tokens from rows of scores.
#pragma once

#include "runtime/plan/steps/fields.h"
#include "runtime/sampling/token_weights.h"

namespace smelt {

/// Draws a token for each of `rows` rows of `count` f32 scores. Rows of scores, numbers and integers begin
/// row_stride, numbers_stride and integers_stride elements apart. Row i of `numbers` (temperature, top_p,
/// min_p) and of `integers` (top_k, seed, position, index) has the settings of row i (DrawSettings in
/// runtime/sampling/token_weights.h). With a temperature of 0, the token is the lowest id with the largest
/// score. `tokens` and `log_probabilities`, which are dense, have one element per row: the token, and the log
/// of its probability by the softmax of the unchanged scores. They are -1 and NaN if a score of the row is
/// NaN or all are -infinity.
struct SampleStep {
  BufferRef scores, numbers, integers, tokens, log_probabilities;
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
