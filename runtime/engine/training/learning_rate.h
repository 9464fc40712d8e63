// Learning rate schedules: the learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt {

enum class ScheduleKind : uint8_t { constant, linear, cosine, inverse_sqrt };
std::string_view name(ScheduleKind kind);  // "inverse-sqrt"
std::optional<ScheduleKind> parse_schedule(std::string_view name);

/// A schedule: the learning rate of each step. Steps count from 0. In the first `warmup_steps` steps the rate
/// rises linearly: step i has peak * (i + 1) / warmup_steps. So the rate of step 0 is not 0, and the rate of
/// step warmup_steps - 1 is `peak`. The kind determines the rates of later steps:
///   constant      peak
///   linear        a straight line from peak at `warmup_steps` to minimum at `total_steps`, then minimum
///   cosine        half a cosine from peak at `warmup_steps` to minimum at `total_steps`, then minimum
///   inverse_sqrt  peak * sqrt(max(warmup_steps, 1) / (step + 1)), but at least minimum
/// total_steps has no effect on constant and inverse_sqrt.
struct LearningRate {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;
  double minimum = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;

  /// Throws Error for a peak that is not positive, a minimum above it, or a warm-up longer than the training.
  void validate() const;
  /// Returns the learning rate of a step.
  double at(int64_t step) const;
};

}  // namespace smelt
