// Weights of a session in the layout of weight files (class Checkpoint).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/engine/weights/tensor_view.h"
#include "runtime/session/session.h"

namespace smelt {

/// Returns whether weight files have the tensors of this state: it holds weights, and is neither a rounded
/// copy of other weights nor the scales or zeros of quantized weights.
bool holds_weights(const State& state);

/// The parameters whose values are read: those that the optimizer updates, or those at which the model is
/// evaluated. They differ if the plan averages parameters (kAverageOffset in runtime/plan/plan.h).
enum class WeightsAt : uint8_t { training, evaluation };

/// Returns every weight tensor as f32, under the first of its names in weight files
/// (Segment::checkpoint_names), with the shape and dimension order of these files. Throws Error if a tensor
/// is sharded over ranks.
std::vector<HostTensor> weights_of(const Session& session, WeightsAt at = WeightsAt::training);

/// Returns the names of the tensors that Session::load_weights would not use. Throws the Error that it would
/// throw if tensors are missing or have a wrong shape or type.
std::vector<std::string> unused_weights(const Plan& plan, const Checkpoint& weights);

/// Throws Error if a value that was read of the tensor is NaN, because all results would be.
void require_numbers(const TensorView& tensor, std::span<const float> values);

}  // namespace smelt
