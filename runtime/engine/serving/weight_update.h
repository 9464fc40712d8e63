// New weights for a continuous batch (continuous_batch.h), for example those of a trainer in the same
// process, which the batch takes between two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/session/session.h"

namespace smelt {

struct WeightUpdate {
  /// All weights of the model, under the names and with the shapes of weight files. Their memory must stay
  /// valid until the update is applied.
  std::shared_ptr<const Checkpoint> weights;
  /// Number that identifies the weights in results and counts. Nothing: one more than the present version.
  std::optional<uint64_t> version = {};
  /// Whether later prompts use keys and values that the previous weights have computed for equal beginnings
  /// of prompts. If false, such prompts are read again.
  bool keeps_prefixes = false;
  /// False: running requests continue with the new weights after the keys and values that the previous ones
  /// have computed. True: running requests end with the previous weights, and no other request begins before
  /// the update is applied.
  bool waits = false;
};

/// Returns a copy of the weights of a session, such as one that trains.
std::shared_ptr<const Checkpoint> copied_weights(const Session& session);

/// Checks an update before anything is changed. Throws one Error that names all tensors that are missing or
/// have a wrong shape or type. Throws Error for a tensor that the plan does not use, unless the tensor
/// repeats the values of one that the plan uses, as the head of a model with tied embeddings does. Throws
/// Error if other sessions use the weights of this one.
void check_weight_update(const Session& session, const WeightUpdate& update);

}  // namespace smelt
