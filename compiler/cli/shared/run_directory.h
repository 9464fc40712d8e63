// The run directory of `smelt train`, as other commands read it: a description in model/. Its weights are in
// model/ once the run has ended, and until then in the newest of checkpoints/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "frontend/description.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt::cli {

/// The model directory inside a run directory; any other path as it is.
std::filesystem::path model_path(const std::filesystem::path& path);

struct Weights {
  std::shared_ptr<const Checkpoint> tensors;
  std::string note = {};  // where they were found, if that is not where one would look first
};

/// Returns the weights that --weights names: a file, an index, a directory, a checkpoint of a run, or a run
/// directory.
Weights weights_at(const std::filesystem::path& path);
/// Returns the weights in the directory of a description. If the run has not saved them yet, or continued
/// after it saved them, returns the weights of its newest intact checkpoint. Empty where there are none.
std::optional<Weights> weights_of(const Description& description);

}  // namespace smelt::cli
