// Hugging Face's generation options on the command line, with dashes or underscores.
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
  std::map<std::string, std::string> given;  // by Hugging Face's name: the text on the command line
  std::optional<bool> do_sample;
  bool sliding_window = false;

  void add_to(CLI::App& app);
  /// The options of the model's generation_config.json, overridden by the flags.
  GenerationOptions options(const Json& about, uint32_t seed) const;
  /// Notes on flags that have no effect, one per line; empty where there are none.
  std::string remark(const GenerationOptions& resolved) const;
};

/// Prints a note that names the fields of the model's generation_config.json that are not known.
void tell_unknown_fields(const Model& model);

}  // namespace smelt::cli
