// Export of a trained model as a directory that transformers loads: config.json, model.safetensors and
// generation_config.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/session/session.h"

namespace smelt {

/// Writes config.json of the plan's model. Also writes generation_config.json if the plan has it. In
/// config.json, the type of the weights is set to float32. Creates the directory if there is none. Throws
/// Error if the plan has no config.json. It has none if no model family of transformers has the model's
/// architecture.
void export_description(const Plan& plan, const std::filesystem::path& directory);

/// Does the work of export_description, and writes the session's weights to model.safetensors, with the
/// names and in the layout of the model's family. Each file is replaced atomically.
void export_model(const Session& session, const std::filesystem::path& directory);

/// Writes the weights of a checkpoint to `file`, as f32, with the names of the model's weight files. It is
/// used instead of Session::save_weights if weights are sharded over ranks. `metadata` is added to the header
/// of the file.
void save_checkpoint_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& file,
                             std::map<std::string, std::string> metadata = {});

}  // namespace smelt
