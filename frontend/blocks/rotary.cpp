#include "frontend/blocks/rotary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace smelt {
namespace {

using Positions = TransformerSpec::Positions;

double original_length(const TransformerSpec& spec) {
  const int64_t given = spec.positions.original_max_positions;
  return static_cast<double>(given > 0 ? given : spec.max_positions);
}

double factor_of(const TransformerSpec& spec) {
  const double given = spec.positions.scaling_factor;
  return given > 0 ? given : static_cast<double>(spec.max_positions) / original_length(spec);
}

/// Llama 3.1: pairs that turn slowly are stretched, quick ones stay, those between are blended.
double llama3(const TransformerSpec& spec, double frequency) {
  const Positions& p = spec.positions;
  const double turns = original_length(spec) * frequency / (2 * std::numbers::pi);
  if (turns < p.low_freq_factor) return frequency / factor_of(spec);
  if (turns > p.high_freq_factor) return frequency;
  const double smooth = (turns - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
  return (1 - smooth) * frequency / factor_of(spec) + smooth * frequency;
}

/// YaRN (arXiv 2309.00071): a ramp over the pairs between beta_fast and beta_slow turns in the original
/// length.
double yarn(const TransformerSpec& spec, int64_t numbers, int64_t pair, double frequency) {
  const Positions& p = spec.positions;
  const auto width = static_cast<double>(numbers);
  const auto pair_of = [&](double turns) {
    return width * std::log(original_length(spec) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(p.rope_theta));
  };
  const double first = pair_of(p.beta_fast), last = pair_of(p.beta_slow);
  const double low = std::max(p.exact_bounds ? first : std::floor(first), 0.0);
  double high = std::min(p.exact_bounds ? last : std::ceil(last), width - 1);
  if (low == high) high += 0.001;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return frequency / factor_of(spec) * ramp + frequency * (1 - ramp);
}

/// Dynamic NTK scaling: a larger theta, so that the slowest pair turns as far at `length` as factor stretches
/// it.
double theta_of(const TransformerSpec& spec, int64_t numbers, int64_t length) {
  const Positions& p = spec.positions;
  if (p.scaling != RopeScaling::dynamic || length <= spec.max_positions || numbers <= 2) return p.rope_theta;
  const double times = static_cast<double>(length) / static_cast<double>(spec.max_positions);
  const auto width = static_cast<double>(numbers);
  return p.rope_theta * std::pow(factor_of(spec) * times - (factor_of(spec) - 1), width / (width - 2));
}

}  // namespace

int64_t rotary_width(const TransformerSpec& spec, const StackSpec& stack) {
  return static_cast<int64_t>(static_cast<double>(stack.head_dim) * spec.positions.rotary_fraction);
}

int64_t rotary_limit(const TransformerSpec& spec) {
  if (spec.positions.scaling == RopeScaling::dynamic) return spec.max_positions;
  if (spec.positions.scaling == RopeScaling::longrope) return static_cast<int64_t>(original_length(spec));
  return std::numeric_limits<int64_t>::max();
}

namespace {

double yarn_magnitude(const Positions& p, double factor) {
  const auto magnitude = [&](double m) { return 0.1 * m * std::log(factor) + 1; };
  const bool both = p.mscale > 0 && p.mscale_all_dim > 0;
  return both ? magnitude(p.mscale) / magnitude(p.mscale_all_dim) : magnitude(1);
}

/// LongRoPE (arXiv 2402.13753): the divisor of a pair's frequency.
double longrope_divisor(const TransformerSpec& spec, int64_t pair, int64_t length) {
  const Positions& p = spec.positions;
  const std::vector<double>& divisors = length > rotary_limit(spec) ? p.long_factors : p.short_factors;
  return divisors.empty() ? 1 : divisors[static_cast<size_t>(pair)];
}

}  // namespace

double rotary_magnitude(const TransformerSpec& spec) {
  const Positions& p = spec.positions;
  if (p.scaling != RopeScaling::yarn && p.scaling != RopeScaling::longrope) return 1;
  if (p.attention_factor > 0) return p.attention_factor;
  const double factor = factor_of(spec);
  if (factor <= 1) return 1;
  if (p.scaling == RopeScaling::yarn) return yarn_magnitude(p, factor);
  return std::sqrt(1 + std::log(factor) / std::log(original_length(spec)));
}

std::vector<double> rotary_frequencies(const TransformerSpec& spec, int64_t width, int64_t length) {
  const Positions& p = spec.positions;
  const double theta = theta_of(spec, width, length);
  std::vector<double> frequencies;
  for (int64_t pair = 0; pair < width / 2; ++pair) {
    double f = std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
    if (p.scaling == RopeScaling::linear) f /= factor_of(spec);
    if (p.scaling == RopeScaling::llama3) f = llama3(spec, f);
    if (p.scaling == RopeScaling::yarn) f = yarn(spec, width, pair, f);
    if (p.scaling == RopeScaling::longrope) f /= longrope_divisor(spec, pair, length);
    frequencies.push_back(f);
  }
  return frequencies;
}

RotaryTable rotary_table(const TransformerSpec& spec, int64_t width, int64_t rows) {
  const std::vector<double> frequencies = rotary_frequencies(spec, width);
  const double scale = rotary_magnitude(spec);
  RotaryTable table;
  for (int64_t row = 0; row < rows; ++row)
    for (double f : frequencies) {
      table.cosines.push_back(scale * std::cos(static_cast<double>(row) * f));
      table.sines.push_back(scale * std::sin(static_cast<double>(row) * f));
    }
  return table;
}

}  // namespace smelt
