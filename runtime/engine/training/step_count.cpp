#include "runtime/engine/training/step_count.h"

#include <charconv>
#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<StepCount> parse_share(std::string_view percent) {
  const auto value = parse_number<double>(percent);
  if (!value || !(*value >= 0 && *value <= 100)) return std::nullopt;
  return share_of_steps(*value / 100);
}

}  // namespace

StepCount share_of_steps(double share) {
  StepCount count;
  count.share = share;
  return count;
}

int64_t StepCount::of(int64_t total) const {
  constexpr double kRounding = 1e-9;  // 10% of 30 steps are 3, not the 4 above 3.0000000000000004
  if (share <= 0) return steps;
  return static_cast<int64_t>(std::ceil(share * static_cast<double>(total) * (1 - kRounding)));
}

std::string to_text(const StepCount& count) {
  return count.share > 0 ? fmt::format("{:.12g}%", count.share * 100) : fmt::format("{}", count.steps);
}

std::optional<StepCount> parse_step_count(std::string_view text) {
  if (text.ends_with('%')) return parse_share(text.substr(0, text.size() - 1));
  const auto steps = parse_number<int64_t>(text);
  return steps && *steps >= 0 ? std::optional(StepCount(*steps)) : std::nullopt;
}

}  // namespace smelt
