// Configuration of low-rank adapters (Hu et al., 2021, "LoRA: Low-Rank Adaptation of Large Language Models",
// arXiv:2106.09685), with the fields of adapter_config.json of the library PEFT. A targeted linear map
// becomes
//
//   y = x W^T + b + scale (dropout(x) A^T) B^T      A [r,in], B [out,r]; scale alpha / r, or alpha / sqrt(r)
//
// where W is no longer trained, and b is trained only if LoraConfig::bias selects it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// Prefix of the names of tensors in files of adapters.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// Fields of an adapter_config.json.
struct LoraConfig {
  enum class Bias : uint8_t { none, all, lora_only };  // biases that are trained; lora_only: those of targets

  int64_t r = 8;  // rank: rows of A
  double alpha = 8;
  bool rslora = false;    // scale alpha / sqrt(r) in place of alpha / r
  double dropout = 0;     // of the input of A
  bool gaussian = false;  // initial A: normal with deviation 1 / r; false: uniform, as in PyTorch's Linear
  Bias bias = Bias::none;
  /// Names of the targeted modules: a module's whole name, or its end after a dot ("q_proj"). If these and
  /// the pattern below are empty and all_linear is false, with_defaults() (blocks/adapters.h) sets the usual
  /// targets of the model.
  std::vector<std::string> targets = {};
  std::string target_pattern = {};         // a regular expression for the whole name, instead of `targets`
  bool all_linear = false;                 // targets every linear map but the head, instead of `targets`
  std::vector<std::string> excluded = {};  // modules that are no targets, named as in `targets`
  /// Modules that are trained without adapters, with all modules inside them. An entry is a sequence of whole
  /// parts between the dots of a name: "h.3" selects "model.h.3.mlp", not "model.h.31.mlp".
  std::vector<std::string> modules_to_save = {};
  std::vector<int64_t> layers = {};  // restricts `targets` to the blocks of these numbers; empty: all blocks
  /// Names before the block's number in module names, such as "layers" in "model.layers.3.mlp". Empty: any
  /// name that is not the first part of the module name.
  std::vector<std::string> layers_pattern = {};
  /// Other values of r or alpha for modules whose name, or its end after a dot, matches the regular
  /// expression.
  std::map<std::string, int64_t> rank_pattern = {};
  std::map<std::string, double> alpha_pattern = {};
  bool fan_in_fan_out = false;  // the targets' weights are [in,out] in files (GPT-2); only PEFT reads this
  std::string base_model = {};  // base_model_name_or_path: name or directory of the base model
  std::string task_type = {};   // PEFT's name of the task, such as "CAUSAL_LM"; empty: null in the file

  bool operator==(const LoraConfig&) const = default;
};

/// Converts the object of an adapter_config.json. Throws one Error that names every field that is unknown,
/// missing or of a wrong type, or that would change the computation in an unsupported way. `file` is the name
/// of the file in messages.
LoraConfig lora_from_json(const Json& json, const std::string& file);
/// Returns the config as the object of an adapter_config.json, as PEFT writes it.
nlohmann::ordered_json lora_json(const LoraConfig& config);

/// Rank of a module's adapter, and the factor of the adapter's result.
struct LoraTarget {
  int64_t r;
  double scale;
};

/// Selects the linear maps to adapt, by the module names of Hugging Face's models.
class LoraTargets {
 public:
  explicit LoraTargets(const LoraConfig& config) : config_(config) {}
  /// Returns whether the linear map `module` has an adapter. `is_head`: it computes the model's logits.
  bool adapts(std::string_view module, bool is_head) const;
  /// Returns rank and scale of a module's adapter. Requires: adapts(module).
  LoraTarget of(std::string_view module) const;
  /// Returns whether the module, or one that contains it, is among modules_to_save.
  bool saves(std::string_view module) const;

 private:
  bool is_in_layers(std::string_view module) const;
  const LoraConfig& config_;
};

/// Reads the directory's adapter_config.json. Throws Error if there is none, and the Errors of
/// lora_from_json.
LoraConfig read_lora(const std::filesystem::path& directory);

}  // namespace smelt
