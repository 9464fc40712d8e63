// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt {

enum class ScheduleKind : uint8_t { constant, linear, cosine, inverse_sqrt };
std::string_view name(ScheduleKind kind);  // "inverse-sqrt"
std::optional<ScheduleKind> parse_schedule(std::string_view name);

/// Steps count from 0. The first `warmup_steps` rise linearly to `peak`, which the last of them has; the
/// first is peak / warmup_steps, not 0, so that no step is lost. Then, up to `total_steps` and `minimum`
/// beyond:
///   constant      peak
///   linear        a straight line from peak to minimum
///   cosine        half a cosine from peak to minimum
///   inverse_sqrt  peak * sqrt(max(warmup_steps, 1) / (step + 1)), at least minimum, for ever
struct LearningRate {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;
  double minimum = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;

  /// Throws Error for a peak that is not positive, a minimum above it, or a warm-up longer than the training.
  void validate() const;
  double at(int64_t step) const;
};

}  // namespace smelt
