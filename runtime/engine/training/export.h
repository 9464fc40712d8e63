// A trained model as a directory that transformers loads: config.json, model.safetensors,
// generation_config.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/session/session.h"

namespace smelt {

/// Writes config.json (and generation_config.json) from the plan, without weights. Creates the directory if
/// there is none. Throws Error if the plan's model has no such form.
void export_description(const Plan& plan, const std::filesystem::path& directory);

/// Writes the session's weights under the names and in the layout of the model's family, with the config.json
/// that the plan carries (its type of weights set to float32). The directory is made where there is none;
/// each file is replaced as a whole. Throws Error if the plan's model has no such form.
void export_model(const Session& session, const std::filesystem::path& directory);

/// Writes the weights in a checkpoint, as f32, under their own names. It replaces Session::save_weights if
/// weights are sharded over ranks. `metadata` is added to the file's header.
void save_checkpoint_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& file,
                             std::map<std::string, std::string> metadata = {});

}  // namespace smelt
