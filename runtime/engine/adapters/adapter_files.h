// Reader of an adapter's directory, as PEFT writes it, for a slot of a plan.
#pragma once

#include <filesystem>

#include "runtime/plan/adapter_interface.h"

namespace smelt {

/// Reads adapter_config.json and adapter_model.safetensors. Throws Error if a file is missing or invalid, if
/// the config asks for something that a slot cannot hold (biases, modules_to_save, a larger rank), or if
/// tensors are missing, unknown or of another shape than the plan's linear maps. The Error names all of them.
AdapterWeights read_adapter_files(const std::filesystem::path& directory, const AdapterInterface& interface);

}  // namespace smelt
