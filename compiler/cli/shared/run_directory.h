// The run directory of `smelt train`, as other commands read it. The description of the model is in model/.
// Its weights are in model/ after the run has ended, and in the newest checkpoint in checkpoints/ before
// that.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "frontend/description.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt::cli {

/// Returns the directory model/ of a run directory; returns any other path unchanged. Throws Error for the
/// directory of a run that trained an adapter, because it has no model.
std::filesystem::path model_path(const std::filesystem::path& path);

/// Weights, and a note about their source.
struct Weights {
  std::shared_ptr<const Checkpoint> tensors;
  std::string note = {};  // message for the user if the weights are those of a run's checkpoint; else empty
};

/// Returns the weights at the path of --weights: a file, an index, a directory, a checkpoint of a run, a
/// directory of checkpoints, whose newest one is read, or a run directory. Throws Error if a run directory
/// has no weights yet.
Weights weights_at(const std::filesystem::path& path);
/// Returns the weights in the directory of a description; empty if there are none. If the directory belongs
/// to a run, and the run's newest intact checkpoint is later than these weights, returns the weights of the
/// checkpoint instead.
std::optional<Weights> weights_of(const Description& description);

}  // namespace smelt::cli
