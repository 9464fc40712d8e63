// Low-rank adapters (Hu et al., 2021, "LoRA: Low-Rank Adaptation of Large Language Models", arXiv:2106.09685)
// as the library PEFT describes them in adapter_config.json: a targeted linear map becomes
//
//   y = x W^T + b + scale (dropout(x) A^T) B^T      A [r,in], B [out,r]; scale alpha / r, or alpha / sqrt(r)
//
// where W and b are no longer trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

struct LoraConfig {
  enum class Bias : uint8_t { none, all, lora_only };  // which biases are trained

  int64_t r = 8;
  double alpha = 8;
  bool rslora = false;    // scale alpha / sqrt(r) in place of alpha / r
  double dropout = 0;     // of the input of A
  bool gaussian = false;  // A begins as normal(1 / r) in place of PyTorch's uniform numbers of a linear map
  Bias bias = Bias::none;
  /// Module names, whole or after a dot ("q_proj" is any such part). If this and the next two are empty: the
  /// usual targets of the family.
  std::vector<std::string> targets = {};
  std::string target_pattern = {};         // a regular expression for the whole name, in place of `targets`
  bool all_linear = false;                 // every linear map but the head, in place of `targets`
  std::vector<std::string> excluded = {};  // as `targets`
  std::vector<std::string> modules_to_save = {};  // trained as a whole
  std::vector<int64_t> layers = {};               // only targets of these blocks; empty: of all
  std::vector<std::string> layers_pattern = {};   // names before a block's number
  /// Another r or alpha by module name, as in `targets`, or by a regular expression for its end.
  std::map<std::string, int64_t> rank_pattern = {};
  std::map<std::string, double> alpha_pattern = {};
  bool fan_in_fan_out = false;  // the targets' weights are [in,out] in files (GPT-2); ignored here
  std::string base_model = {};  // base_model_name_or_path
  std::string task_type = {};

  bool operator==(const LoraConfig&) const = default;
};

/// Reads adapter_config.json's object; `file` is for messages. One Error names every field that is unknown or
/// would change the maths in an unsupported way, and every value of another kind.
LoraConfig lora_from_json(const Json& json, const std::string& file);
/// Returns the config as PEFT writes it.
nlohmann::ordered_json lora_json(const LoraConfig& config);
/// Parses "r=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora". Throws Error with the part that cannot
/// be read.
LoraConfig parse_lora(std::string_view text);

/// Adapter of a module; B's product is multiplied by `scale`.
struct LoraTarget {
  int64_t r;
  double scale;
};

/// Selects the linear maps to adapt, by the module names of Hugging Face's models.
class LoraTargets {
 public:
  explicit LoraTargets(const LoraConfig& config) : config_(config) {}
  bool adapts(std::string_view module, bool is_head) const;
  LoraTarget of(std::string_view module) const;
  /// Returns whether the module, or one that contains it, is trained as a whole.
  bool saves(std::string_view module) const;

 private:
  bool is_in_layers(std::string_view module) const;
  const LoraConfig& config_;
};

/// Reads the directory's adapter_config.json.
LoraConfig read_lora(const std::filesystem::path& directory);

}  // namespace smelt
