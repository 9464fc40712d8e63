// The run directory that `smelt train` leaves, as the other commands read it: a description in model/, whose
// weights are there once the run has ended, and until then in the newest of checkpoints/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "frontend/description.h"
#include "runtime/weights/safetensors.h"

namespace smelt::cli {

/// The model directory inside a run directory; any other path as it is.
std::filesystem::path model_path(const std::filesystem::path& path);

struct Weights {
  std::shared_ptr<const Checkpoint> tensors;
  std::string note = {};  // where they were found, if that is not where one would look first
};

/// What --weights names: a file, an index, a directory, a checkpoint of a run, or a run directory.
Weights weights_at(const std::filesystem::path& path);
/// The weights beside a description. For a run that continued after it saved them, or has not saved them yet,
/// those of its newest intact checkpoint. Empty where there are none.
std::optional<Weights> weights_of(const Description& description);

}  // namespace smelt::cli
