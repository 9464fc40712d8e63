#include "runtime/engine/training/learning_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runtime/base/error.h"

namespace smelt {
namespace {

// A decaying part maps (fraction of the decay that has passed) to (share of peak - minimum that is left).
double hold(double) { return 1; }
double line(double passed) { return 1 - passed; }
double half_cosine(double passed) { return 0.5 * (1 + std::cos(std::numbers::pi * passed)); }

struct Row {
  ScheduleKind kind;
  std::string_view name;
  double (*left)(double passed);  // none: depends on the step, not on the fraction
};

constexpr std::array<Row, 4> kSchedules = {{
    {ScheduleKind::constant, "constant", hold},
    {ScheduleKind::linear, "linear", line},
    {ScheduleKind::cosine, "cosine", half_cosine},
    {ScheduleKind::inverse_sqrt, "inverse-sqrt", nullptr},
}};

const Row& row(ScheduleKind kind) { return kSchedules[static_cast<size_t>(kind)]; }

}  // namespace

std::string_view name(ScheduleKind kind) { return row(kind).name; }

std::optional<ScheduleKind> parse_schedule(std::string_view name) {
  for (const Row& r : kSchedules)
    if (r.name == name) return r.kind;
  return std::nullopt;
}

void LearningRate::validate() const {
  if (!(peak > 0) || !std::isfinite(peak)) fail("learning rate {}: expected a positive number", peak);
  if (!(minimum >= 0 && minimum <= peak))
    fail("minimum learning rate {}: expected a number from 0 to the learning rate {}", minimum, peak);
  if (warmup_steps < 0) fail("warm-up of {} steps: expected 0 or more", warmup_steps);
  if (warmup_steps > total_steps && total_steps > 0)
    fail("warm-up of {} steps is longer than the training of {}", warmup_steps, total_steps);
}

double LearningRate::at(int64_t step) const {
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return peak * (now + 1) / warmup;
  const Row& shape = row(kind);
  if (!shape.left) return std::max(minimum, peak * std::sqrt(std::max(warmup, 1.0) / (now + 1)));
  const double decay = std::max(1.0, static_cast<double>(total_steps - warmup_steps));
  const double passed = std::clamp((now - warmup) / decay, 0.0, 1.0);
  return minimum + (peak - minimum) * shape.left(passed);
}

}  // namespace smelt
