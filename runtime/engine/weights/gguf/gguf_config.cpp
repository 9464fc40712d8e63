// Metadata of a GGUF file as a config.json.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/engine/weights/gguf/gguf_architecture.h"
#include "runtime/engine/weights/gguf/gguf_model.h"

namespace smelt {
namespace {

class GgufConfig {
 public:
  explicit GgufConfig(const GgufMetadata& metadata) : metadata_(metadata) {}

  Json build() {
    config_["model_type"] = metadata_.architecture().model_type;
    require_known_keys();
    read_fields();
    read_tensors();
    read_tokens();
    check_heads();
    read_rope();
    if (metadata_.architecture().model_type == "gemma2") config_["query_pre_attn_scalar"] = gemma2_scale();
    return std::move(config_);
  }

 private:
  /// Keys of the architecture that no table has may change what the model computes.
  void require_known_keys() const {
    const GgufArchitecture& architecture = metadata_.architecture();
    const std::string prefix = std::string(architecture.name) + ".";
    for (const auto& [key, value] : metadata_.file().metadata.items()) {
      if (!key.starts_with(prefix)) continue;
      const std::string_view own = std::string_view(key).substr(prefix.size());
      const bool known =
          std::ranges::find(architecture.fields, own, &GgufField::key) != architecture.fields.end() ||
          std::ranges::find(kOtherGgufKeys, own) != kOtherGgufKeys.end();
      const bool usual = (own == "attention.causal" && value == Json(true)) ||
                         (own == "rope.scaling.attn_factor" && value == Json(1.0));
      const bool off = usual || value == Json(0) || value == Json(false);
      if (!known && !off)
        metadata_.refuse("{} is {}, which changes the maths and is not supported; expected no such key", key,
                         brief(value));
    }
  }

  void read_fields() {
    for (const GgufField& field : metadata_.architecture().fields) {
      const Json* value = metadata_.own(field.key);
      if (value && !value->is_number())
        metadata_.refuse("{}.{} is {}: expected one number for all blocks", metadata_.architecture().name,
                         field.key, brief(*value));
      if (!value && field.key.ends_with("epsilon"))
        metadata_.refuse("{}.{} is missing: expected the number that norms add to the variance",
                         metadata_.architecture().name, field.key);
      if (value) config_[std::string(field.config)] = *value;
    }
  }

  void read_tensors() {
    const TensorView* embeddings = metadata_.tensor("token_embd.weight");
    if (!embeddings) metadata_.refuse("tensor 'token_embd.weight' is missing: expected a model's embeddings");
    config_["vocab_size"] = embeddings->shape[0];
    config_["tie_word_embeddings"] = metadata_.tensor("output.weight") == nullptr;
    for (const GgufSwitch& each : metadata_.architecture().switches)
      config_[std::string(each.config)] = metadata_.tensor(each.tensor) != nullptr;
  }

  Json token(const char* name) const {
    const Json* id = metadata_.find(std::string("tokenizer.ggml.") + name + "_token_id");
    return id && id->is_number_integer() ? *id : Json(nullptr);
  }

  /// Generation ends at the end of a text, of a turn and of a message.
  void read_tokens() {
    Json ends = Json::array();
    for (const char* name : {"eos", "eot", "eom"})
      if (const Json id = token(name); !id.is_null() && std::ranges::find(ends, id) == ends.end())
        ends.push_back(id);
    config_["bos_token_id"] = token("bos");
    config_["pad_token_id"] = token("padding");
    config_["eos_token_id"] = ends.empty() ? Json(nullptr) : ends.size() == 1 ? ends[0] : ends;
  }

  int64_t head_width() const {
    const int64_t hidden = metadata_.count("embedding_length"),
                  heads = metadata_.count("attention.head_count");
    return metadata_.count("attention.key_length", hidden / heads);
  }

  void check_heads() const {
    const int64_t width = head_width();
    for (const char* key : {"attention.value_length", "rope.dimension_count"})
      if (const int64_t other = metadata_.count(key, width); other != width)
        metadata_.refuse(
            "{}.{} is {}, which changes the maths and is not supported; expected {}, the width of a "
            "head",
            metadata_.architecture().name, key, other, width);
  }

  void read_rope() {
    const Json* type = metadata_.own("rope.scaling.type");
    const TensorView* factors = metadata_.tensor("rope_freqs.weight");
    if (type && *type != "none") config_["rope_scaling"] = stored_scaling(*type);
    if (!factors) return;
    if (config_.contains("rope_scaling"))
      metadata_.refuse("rope.scaling.type and rope_freqs.weight: expected one");
    config_["rope_scaling"] = llama3_scaling(*factors);
  }

  Json stored_scaling(const Json& type) const {
    if (type != "linear" && type != "yarn")
      metadata_.refuse("rope.scaling.type is {}: expected none, linear or yarn", brief(type));
    Json scaling = {{"rope_type", type}};
    const std::pair<const char*, const char*> names[] = {
        {"rope.scaling.factor", "factor"},
        {"rope.scaling.original_context_length", "original_max_position_embeddings"}};
    for (const auto& [key, name] : names)
      if (const Json* value = metadata_.own(key); value && (type == "yarn" || key == names[0].first))
        scaling[name] = *value;
    return scaling;
  }

  /// Divisor of a frequency by the rule of Llama 3.
  static double llama3_divisor(double frequency, double factor, double low, double high, double length) {
    const double turns = length * frequency / (2 * std::numbers::pi);
    if (turns < low) return factor;
    if (turns > high) return 1;
    const double part = (turns - low) / (high - low);
    return 1 / ((1 - part) / factor + part);
  }

  /// Returns the parameters from which the stored divisors of the frequencies follow.
  Json llama3_scaling(const TensorView& tensor) const {
    constexpr double kLow = 1, kHigh = 4, kLength = 8192, kTolerance = 1e-5;
    const std::vector<float> divisors = read_floats(tensor);
    const double theta = config_.value("rope_theta", 10000.0), factor = divisors.back();
    const auto half = static_cast<double>(divisors.size());
    if (static_cast<int64_t>(divisors.size()) * 2 != head_width())
      metadata_.refuse("rope_freqs.weight has {} elements: expected {}", divisors.size(), head_width() / 2);
    for (size_t i = 0; i < divisors.size(); ++i) {
      const double frequency = std::pow(theta, -static_cast<double>(i) / half);
      const double expected = llama3_divisor(frequency, factor, kLow, kHigh, kLength);
      if (!(std::abs(divisors[i] - expected) <= kTolerance * expected))
        metadata_.refuse("rope_freqs.weight: element {} is {}, which is no scaling of Llama 3 (expected {})",
                         i, divisors[i], expected);
    }
    return {{"rope_type", "llama3"},
            {"factor", factor},
            {"low_freq_factor", kLow},
            {"high_freq_factor", kHigh},
            {"original_max_position_embeddings", static_cast<int64_t>(kLength)}};
  }

  /// The format has no key for the width by which Gemma 2 scales scores. Its reader derives it: that of a
  /// head, except in the model of 46 blocks.
  int64_t gemma2_scale() const {
    constexpr int64_t kBlocks = 46;
    if (metadata_.count("block_count") != kBlocks) return head_width();
    return metadata_.count("embedding_length") / metadata_.count("attention.head_count");
  }

  const GgufMetadata& metadata_;
  Json config_ = Json::object();
};

}  // namespace

Json gguf_config(const GgufContents& file, std::string_view file_name) {
  return GgufConfig(GgufMetadata(file, file_name)).build();
}

}  // namespace smelt
