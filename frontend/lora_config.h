// Low-rank adapters (Hu et al., 2021, "LoRA: Low-Rank Adaptation of Large Language Models", arXiv:2106.09685)
// as the library PEFT describes them in adapter_config.json: a linear map that is targeted becomes
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
  /// Module names, whole or behind a dot ("q_proj" is any such part); none, with neither of the next two:
  /// what the family's models are usually adapted in.
  std::vector<std::string> targets = {};
  std::string target_pattern = {};         // a regular expression for the whole name, in place of `targets`
  bool all_linear = false;                 // every linear map but the head, in place of `targets`
  std::vector<std::string> excluded = {};  // as `targets`
  std::vector<std::string> modules_to_save = {};  // trained as a whole
  std::vector<int64_t> layers = {};               // only targets of these blocks; empty: of all
  std::vector<std::string> layers_pattern = {};   // names that a block's number stands behind
  /// By module name, as in `targets`, or a regular expression for its end: another r or alpha.
  std::map<std::string, int64_t> rank_pattern = {};
  std::map<std::string, double> alpha_pattern = {};
  bool fan_in_fan_out = false;  // the targets' weights are [in,out] in files (GPT-2); says nothing here
  std::string base_model = {};  // base_model_name_or_path
  std::string task_type = {};

  bool operator==(const LoraConfig&) const = default;
};

/// From adapter_config.json's object; `file` is for messages. One Error names every field that is unknown or
/// would change the maths in a way that is not supported, and every value of another kind.
LoraConfig lora_from_json(const Json& json, const std::string& file);
/// As PEFT writes it.
nlohmann::ordered_json lora_json(const LoraConfig& config);
/// "r=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora". Throws Error naming what cannot be read.
LoraConfig parse_lora(std::string_view text);

/// What a module's adapter is; scale is what B's product is multiplied with.
struct LoraTarget {
  int64_t r;
  double scale;
};

/// Which linear maps are adapted, by the module names that Hugging Face's models have.
class LoraTargets {
 public:
  explicit LoraTargets(const LoraConfig& config) : config_(config) {}
  bool adapts(std::string_view module, bool is_head) const;
  LoraTarget of(std::string_view module) const;
  /// Whether the module, or one that it is a part of, is trained as a whole.
  bool saves(std::string_view module) const;

 private:
  bool is_in_layers(std::string_view module) const;
  const LoraConfig& config_;
};

/// The directory's adapter_config.json.
LoraConfig read_lora(const std::filesystem::path& directory);

}  // namespace smelt
