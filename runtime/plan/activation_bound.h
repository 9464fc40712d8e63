// Names of the bounds that quantisation-aware training learns
// (passes/graph/precision/quantize_activations.h).
#pragma once

#include <string>
#include <string_view>

namespace smelt {

inline constexpr std::string_view kBoundSuffix = ".input_bound";

/// Plans read max(bound, kLeastActivationBound), in training and in inference, so that the inverse of a bound
/// that an update has driven to 0 or below is finite.
inline constexpr double kLeastActivationBound = 0x1p-20;

/// Entry of a training plan that returns the largest magnitude of each activation, under the name of its
/// bound, for a batch.
inline constexpr std::string_view kCalibrate = "calibrate";

/// Returns whether a parameter or a tensor of this name is the bound of an activation.
inline bool is_activation_bound(std::string_view name) { return name.ends_with(kBoundSuffix); }

/// Returns the name of the bound of the activations that a weight multiplies: "h.0.fc.input_bound" for
/// "h.0.fc.weight".
inline std::string activation_bound_of(std::string_view weight) {
  constexpr std::string_view kWeight = ".weight";
  if (weight.ends_with(kWeight)) weight.remove_suffix(kWeight.size());
  return std::string(weight) + std::string(kBoundSuffix);
}

}  // namespace smelt
