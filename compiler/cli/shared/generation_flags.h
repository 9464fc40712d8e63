// GenerationFlags: Hugging Face's generation options on the command line, with dashes or underscores.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>

#include "compiler/cli/shared/model.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

struct GenerationFlags {
  std::map<std::string, std::string> given;  // text of each option that was given, by Hugging Face's name
  std::optional<bool> do_sample;             // empty: as in the model's generation_config.json
  bool sliding_window = false;  // continue beyond the model's number of positions, from the last tokens only

  void add_to(CLI::App& app);
  /// Returns the options of the model's generation_config.json, overridden by the flags. `about`: the model's
  /// description, which contains that file (Model::about).
  GenerationOptions options(const Json& about, uint32_t seed) const;
  /// Returns notes about flags that have no effect, one per line; empty if there are none. `resolved`: the
  /// result of options().
  std::string remark(const GenerationOptions& resolved) const;
};

/// Prints a note to stderr that names the fields of the model's generation_config.json that are not read.
/// Prints nothing if there are none.
void tell_unknown_fields(const Model& model);

}  // namespace smelt::cli
