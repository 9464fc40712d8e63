#include "runtime/engine/weights/packed/quantization.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/engine/weights/packed/formats.h"

namespace smelt {
namespace {

constexpr const char* kField = "quantization_config";

struct QuantizationMethod {
  std::string_view name;
  std::vector<std::string_view> settings;  // known ones; those that change weights are checked by `problems`
  void (*problems)(const Json& settings, std::vector<std::string>& problems);
  void (*unpack)(StoredTensors& tensors, const QuantizationInfo& info);
  std::string (*warning)(const Json& settings) = nullptr;
};

const std::vector<QuantizationMethod>& quantization_methods() {
  static const std::vector<QuantizationMethod> methods = {
      {"gptq",
       {"bits",
        "group_size",
        "sym",
        "desc_act",
        "checkpoint_format",
        "format",
        "is_marlin_format",
        "dynamic",
        "pack_dtype",
        "lm_head",
        "damp_percent",
        "damp_auto_increment",
        "true_sequential",
        "static_groups",
        "meta",
        "model_name_or_path",
        "model_file_base_name",
        "quant_method",
        "method",
        "tokenizer",
        "dataset",
        "act_group_aware",
        "backend",
        "model_seqlen",
        "block_name_to_quantize",
        "module_name_preceding_first_block",
        "batch_size",
        "pad_token_id",
        "max_input_length",
        "cache_block_outputs",
        "modules_in_block_to_quantize",
        "use_cuda_fp16",
        "use_exllama",
        "exllama_config",
        "disable_exllama",
        "mse",
        "parallel_packing",
        "modules_to_not_convert"},
       gptq_problems,
       unpack_gptq},
      {"awq",
       {"bits",
        "w_bit",
        "group_size",
        "q_group_size",
        "zero_point",
        "version",
        "backend",
        "modules_to_not_convert",
        "do_fuse",
        "fuse_max_seq_len",
        "modules_to_fuse",
        "exllama_config",
        "format",
        "pack_dtype",
        "sym",
        "desc_act",
        "lm_head",
        "meta",
        "quant_method",
        "checkpoint_format",
        "method"},
       awq_problems,
       unpack_awq},
      {"bitsandbytes",
       {"load_in_8bit", "load_in_4bit", "_load_in_8bit", "_load_in_4bit", "llm_int8_threshold",
        "llm_int8_skip_modules", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight",
        "bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant",
        "bnb_4bit_quant_storage", "quant_method"},
       bitsandbytes_problems,
       unpack_bitsandbytes},
      {"fp8",
       {"activation_scheme", "weight_block_size", "dequantize", "modules_to_not_convert",
        "modules_to_convert", "fmt", "scale_fmt", "quant_method", "ignored_layers"},
       fp8_problems,
       unpack_fp8},
      {"fbgemm_fp8",
       {"activation_scale_ub", "modules_to_not_convert", "quant_method"},
       fbgemm_problems,
       unpack_fbgemm},
      {"compressed-tensors",
       {"config_groups", "format", "quantization_status", "kv_cache_scheme", "global_compression_ratio",
        "ignore", "quant_method", "run_compressed", "dequantize", "version", "sparsity_config",
        "transform_config", "use_optimized_inference", "moe_sparsity_config"},
       compressed_problems,
       unpack_compressed,
       compressed_warning},
  };
  return methods;
}

const QuantizationMethod* find_method(const Json& name) {
  for (const QuantizationMethod& method : quantization_methods())
    if (name.is_string() && method.name == name.get_ref<const std::string&>()) return &method;
  return nullptr;
}

std::string unknown_method(const Json& name) {
  std::vector<std::string_view> names;
  for (const QuantizationMethod& method : quantization_methods()) names.push_back(method.name);
  return fmt::format(
      "quant_method {} says that the weights are quantised in a way that is not read; expected one of {}. "
      "Take "
      "the model that they were made from, or write them out in Python: "
      "AutoModelForCausalLM.from_pretrained(DIR).dequantize().save_pretrained(NEW_DIR)",
      name.is_null() ? "null" : brief(name), fmt::join(names, ", "));
}

/// The type of the model's floats.
DType model_dtype(const Json& config) {
  const std::pair<const char*, DType> names[] = {
      {"float32", DType::f32}, {"float16", DType::f16}, {"bfloat16", DType::bf16}};
  for (const char* field : {"dtype", "torch_dtype"})
    for (const auto& [name, dtype] : names)
      if (setting(config, field, nullptr) == name) return dtype;
  return DType::bf16;
}

}  // namespace

Json setting(const Json& settings, const char* name, const Json& otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() || found->is_null() ? otherwise : *found;
}

void require_setting(const Json& settings, const char* name, const Json& expected,
                     std::vector<std::string>& problems) {
  const Json value = setting(settings, name, nullptr);
  if (value.is_null() || std::ranges::find(expected, value) != expected.end()) return;
  std::vector<std::string> texts;
  for (const Json& each : expected) texts.push_back(each.dump());
  problems.push_back(fmt::format("{} is {}: expected {}", name, brief(value), fmt::join(texts, " or ")));
}

std::vector<std::string> quantization_problems(const Json& quantization) {
  if (!quantization.is_object()) return {fmt::format("{}: expected an object", brief(quantization))};
  const Json name = setting(quantization, "quant_method", nullptr);
  const QuantizationMethod* method = find_method(name);
  if (!method) return {unknown_method(name)};
  std::vector<std::string> problems;
  for (const auto& [key, value] : quantization.items())
    if (std::ranges::find(method->settings, key) == method->settings.end() && !value.is_null())
      problems.push_back(fmt::format("{} is {}, which is not known for {}", key, brief(value), method->name));
  method->problems(quantization, problems);
  return problems;
}

UnpackedTensors unpack_quantized(std::vector<TensorView> stored, const Json& config,
                                 const std::string& file) {
  const Json& settings = config.at(kField);
  if (const auto problems = quantization_problems(settings); !problems.empty())
    fail_with(Status::invalid_file, "'{}': {}: {}", file, kField, fmt::join(problems, "; "));
  const QuantizationMethod& method = *find_method(settings.at("quant_method"));
  StoredTensors tensors(std::move(stored), file);
  method.unpack(tensors, {settings, model_dtype(config)});
  return {std::move(tensors).all(), method.warning ? method.warning(settings) : ""};
}

}  // namespace smelt
