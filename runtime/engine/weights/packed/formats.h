// Readers of the formats of quantised weights, one file each.
#pragma once

#include "runtime/engine/weights/packed/stored_tensors.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// Description of a checkpoint for a reader.
struct QuantizationInfo {
  const Json& settings;  // quantization_config
  DType dtype;           // of the model's floats: config.json's dtype; bf16 if it says none
};

// Each reader replaces the parts of all its quantised weights by the weights. `problems` checks values of the
// settings beyond their names, and appends messages.

void unpack_gptq(StoredTensors& tensors, const QuantizationInfo& info);
void gptq_problems(const Json& settings, std::vector<std::string>& problems);

void unpack_awq(StoredTensors& tensors, const QuantizationInfo& info);
void awq_problems(const Json& settings, std::vector<std::string>& problems);

void unpack_bitsandbytes(StoredTensors& tensors, const QuantizationInfo& info);
void bitsandbytes_problems(const Json& settings, std::vector<std::string>& problems);

void unpack_fp8(StoredTensors& tensors, const QuantizationInfo& info);
void fp8_problems(const Json& settings, std::vector<std::string>& problems);

void unpack_fbgemm(StoredTensors& tensors, const QuantizationInfo& info);
void fbgemm_problems(const Json& settings, std::vector<std::string>& problems);

void unpack_compressed(StoredTensors& tensors, const QuantizationInfo& info);
void compressed_problems(const Json& settings, std::vector<std::string>& problems);
/// Returns a message if the model's activations are quantised; else an empty text.
std::string compressed_warning(const Json& settings);

/// Returns settings[name]; `otherwise` if it is missing or null.
Json setting(const Json& settings, const char* name, const Json& otherwise);
/// Adds a problem if the setting is there and is not one of `expected`.
void require_setting(const Json& settings, const char* name, const Json& expected,
                     std::vector<std::string>& problems);

}  // namespace smelt
