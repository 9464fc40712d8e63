#include "runtime/engine/training/learning_rate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {
namespace {

// A decaying part maps (fraction of the decay that has passed) to (share of peak - minimum that is left).
using Left = double (*)(double passed, const LearningRate& rate);

double hold(double, const LearningRate&) { return 1; }
double line(double passed, const LearningRate&) { return 1 - passed; }
double power(double passed, const LearningRate& rate) { return std::pow(1 - passed, rate.power); }
double half_cosine(double passed, const LearningRate&) {
  return 0.5 * (1 + std::cos(std::numbers::pi * passed));
}
double cycles(double passed, const LearningRate& rate) {
  const double cycle = passed * static_cast<double>(rate.cycles);
  return passed < 1 ? half_cosine(cycle - std::floor(cycle), rate) : 0;
}

struct Row {
  ScheduleKind kind;
  std::string_view name;
  Left left;  // null: depends on the step, not on the fraction
};

constexpr std::array<Row, 7> kSchedules = {{
    {ScheduleKind::constant, "constant", hold},
    {ScheduleKind::linear, "linear", line},
    {ScheduleKind::cosine, "cosine", half_cosine},
    {ScheduleKind::inverse_sqrt, "inverse-sqrt", nullptr},
    {ScheduleKind::polynomial, "polynomial", power},
    {ScheduleKind::cosine_with_restarts, "cosine-with-restarts", cycles},
    {ScheduleKind::warmup_stable_decay, "warmup-stable-decay", half_cosine},
}};

const Row& row(ScheduleKind kind) { return kSchedules[static_cast<size_t>(kind)]; }

}  // namespace

std::string_view name(ScheduleKind kind) { return row(kind).name; }

std::optional<ScheduleKind> parse_schedule(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  for (const Row& r : kSchedules)
    if (r.name == dashed) return r.kind;
  return std::nullopt;
}

std::string schedule_names() {
  std::vector<std::string_view> names;
  for (const Row& r : kSchedules) names.push_back(r.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void LearningRate::validate() const {
  if (!(peak > 0) || !std::isfinite(peak)) fail("learning rate {}: expected a positive number", peak);
  if (!(minimum >= 0 && minimum <= peak))
    fail("minimum learning rate {}: expected a number from 0 to the learning rate {}", minimum, peak);
  if (warmup_steps < 0) fail("warm-up of {} steps: expected 0 or more", warmup_steps);
  if (warmup_steps > total_steps && total_steps > 0)
    fail("warm-up of {} steps is longer than the training of {}", warmup_steps, total_steps);
  if (!(power > 0) || !std::isfinite(power))
    fail("power {} of the schedule: expected a positive number", power);
  if (cycles < 1) fail("{} cycles of the schedule: expected 1 or more", cycles);
  if (kind == ScheduleKind::warmup_stable_decay &&
      (decay_steps < 0 || warmup_steps + decay_steps > total_steps))
    fail("a warm-up of {} steps and a decay of {}: expected at most the {} steps of the training",
         warmup_steps, decay_steps, total_steps);
}

int64_t LearningRate::falling_steps() const {
  return kind == ScheduleKind::warmup_stable_decay ? decay_steps : total_steps - warmup_steps;
}

double LearningRate::at(int64_t step) const {
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return peak * (now + 1) / warmup;
  const Row& shape = row(kind);
  if (!shape.left) return std::max(minimum, peak * std::sqrt(std::max(warmup, 1.0) / (now + 1)));
  const auto begin = static_cast<double>(total_steps - falling_steps());
  const double decay = std::max(1.0, static_cast<double>(falling_steps()));
  const double passed = std::clamp((now - begin) / decay, 0.0, 1.0);
  return minimum + (peak - minimum) * shape.left(passed, *this);
}

}  // namespace smelt
