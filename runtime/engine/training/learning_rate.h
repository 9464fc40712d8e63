// Learning rate schedules: the learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

enum class ScheduleKind : uint8_t {
  constant,
  linear,
  cosine,
  inverse_sqrt,
  polynomial,
  cosine_with_restarts,
  warmup_stable_decay
};
std::string_view name(ScheduleKind kind);  // "inverse-sqrt"
/// Parses a result of name(), also with _ for -, as transformers spells it. Returns nothing for other names.
std::optional<ScheduleKind> parse_schedule(std::string_view name);
/// Returns the names of all kinds, "constant, linear, ...".
std::string schedule_names();

/// A schedule: the learning rate of each step. Steps count from 0. In the first `warmup_steps` steps the rate
/// rises linearly: step i has peak * (i + 1) / warmup_steps. So the rate of step 0 is not 0, and the rate of
/// step warmup_steps - 1 is `peak`. The kind determines the rates of later steps:
///   constant              peak
///   linear                a straight line from peak at `warmup_steps` to minimum at `total_steps`
///   cosine                half a cosine from peak at `warmup_steps` to minimum at `total_steps`
///   inverse_sqrt          peak * sqrt(max(warmup_steps, 1) / (step + 1)), but at least minimum
///   polynomial            minimum + (peak - minimum) * left^power, where `left` falls linearly from 1 at
///                         `warmup_steps` to 0 at `total_steps`
///   cosine_with_restarts  `cycles` times in succession half a cosine from peak to minimum
///   warmup_stable_decay   peak, and in the last `decay_steps` steps half a cosine to minimum
/// After total_steps the rate is the minimum. total_steps has no effect on constant and inverse_sqrt.
struct LearningRate {
  ScheduleKind kind = ScheduleKind::constant;
  double peak = 1e-3;
  double minimum = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  double power = 1;         // of polynomial
  int64_t cycles = 1;       // of cosine_with_restarts
  int64_t decay_steps = 0;  // of warmup_stable_decay

  /// Throws Error for a peak that is not positive, a minimum above it, a warm-up longer than the training, a
  /// decay that does not fit after the warm-up, a power that is not positive, or less than one cycle.
  void validate() const;
  /// Returns the learning rate of a step.
  double at(int64_t step) const;

 private:
  /// Returns the steps without the warm-up and, if the kind has one, the part with a constant rate.
  int64_t falling_steps() const;
};

}  // namespace smelt
