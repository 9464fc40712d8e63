#include "runtime/cpu/library_steps.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/cpu/bind_step.h"
#include "runtime/sampling/score_head.h"

namespace smelt {
namespace {

/// The log of the share that one score has of all, at temperature 1.
float log_share(std::span<const float> scores, float largest, int32_t token) {
  std::vector<uint64_t> weights(scores.size());
  weights_of(scores, largest, 1, weights.data());
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  const double distance = scores[static_cast<size_t>(token)] == largest
                              ? 0
                              : double{scores[static_cast<size_t>(token)]} - double{largest};
  return static_cast<float>(distance - std::log(static_cast<double>(total) * 0x1p-40));
}

int32_t drawn(std::span<const float> scores, const DrawSettings& settings) {
  ScoreHead head(scores, settings.temperature);
  const uint64_t bits = random_bits(settings.seed, settings.position, settings.index);
  const uint64_t part = drawn_part(head.kept(settings).mass, bits);
  return word_at(head[head.holding(part + 1).words - 1].place);
}

void sample_row(std::span<const float> scores, const DrawSettings& settings, int32_t* token, float* log) {
  const LargestScore largest = largest_score(scores);
  const bool none =
      scores.empty() || largest.nan ||
      scores[static_cast<size_t>(word_at(largest.place))] == -std::numeric_limits<float>::infinity();
  *token = none ? -1 : settings.temperature > 0 ? drawn(scores, settings) : word_at(largest.place);
  *log = none ? std::numeric_limits<float>::quiet_NaN()
              : log_share(scores, scores[static_cast<size_t>(word_at(largest.place))], *token);
}

}  // namespace

void sample(const SampleSizes& sizes, const float* scores, const float* numbers, const int32_t* integers,
            int32_t* tokens, float* log_probabilities) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const float* const n = numbers + row * sizes.numbers_stride;
    const int32_t* const i = integers + row * sizes.integers_stride;
    const auto at = [](const auto* columns) { return [columns](size_t column) { return columns[column]; }; };
    sample_row({scores + row * sizes.row_stride, static_cast<size_t>(sizes.count)},
               settings_of_columns(at(n), at(i)), tokens + row, log_probabilities + row);
  }
}

Launch bind_step(const SampleStep& step, StepBinder& binder) {
  return
      [scores = binder.pointer<float>(step.scores), numbers = binder.pointer<float>(step.numbers),
       integers = binder.pointer<int32_t>(step.integers), tokens = binder.pointer<int32_t>(step.tokens),
       log_probabilities = binder.pointer<float>(step.log_probabilities),
       sizes = SampleSizes{binder.value(step.rows), binder.value(step.count), binder.value(step.row_stride),
                           binder.value(step.numbers_stride), binder.value(step.integers_stride)}](
          const StepRun&) { sample(sizes, scores, numbers, integers, tokens, log_probabilities); };
}

}  // namespace smelt
