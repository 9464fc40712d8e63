// Weights of 8-bit floats (E4M3) with scales in f32, whose products are rounded to the model's type: "fp8" of
// DeepSeek and Qwen, with a scale per block ("weight_scale_inv"), and "fbgemm_fp8", with a scale per row.
#include "runtime/engine/weights/packed/formats.h"
#include "runtime/engine/weights/packed/scaled_rows.h"
#include "runtime/engine/weights/stored_rows.h"

namespace smelt {
namespace {

constexpr const char *kInverse = "_scale_inv", *kScale = "_scale", *kWeight = ".weight";
constexpr int64_t kUsualBlock = 128;

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The numbers of a tensor of floats of 8 bits with two dims.
PackedNumbers take_float8(StoredTensors& tensors, const std::string& name, std::string_view format) {
  const std::optional<TensorView> weight = tensors.take_if(name);
  const PackedNumbers* packed = weight && weight->source ? weight->source->packed() : nullptr;
  if (!packed || packed->format != "F8_E4M3" || weight->shape.size() != 2)
    tensors.refuse(name, "{}, expected F8_E4M3 with two dims", weight ? describe(*weight) : "missing");
  PackedNumbers numbers = *packed;
  numbers.format = format;
  return numbers;
}

/// Weights of 8-bit floats without a scale would be used as they are.
void require_scaled(StoredTensors& tensors, const char* suffix) {
  for (const std::string& stem : tensors.stems(kWeight)) {
    const TensorView& weight = *tensors.find(stem + kWeight);
    const PackedNumbers* packed = weight.source ? weight.source->packed() : nullptr;
    if (packed && packed->format == "F8_E4M3")
      tensors.refuse(stem + kWeight + suffix, "missing: expected scales of {}", describe(weight));
  }
}

void unpack_fp8_weight(StoredTensors& tensors, const std::string& name, int64_t rows, int64_t columns,
                       DType dtype) {
  PackedNumbers numbers = take_float8(tensors, name, "fp8");
  const int64_t row_groups = divided_up(numbers.rows, rows), groups = divided_up(numbers.columns, columns);
  const TensorView scales = tensors.take(name + kInverse, kScaleTypes, {row_groups, groups});
  numbers.group_rows = rows, numbers.group_columns = columns;
  numbers.scales = PackedScales{.stored = scales, .row_stride = groups, .group_stride = 1};
  numbers.rounded_to = dtype;
  tensors.put(scaled_tensor(name, std::move(numbers)));
}

void unpack_fbgemm_weight(StoredTensors& tensors, const std::string& name, DType dtype) {
  PackedNumbers numbers = take_float8(tensors, name, "fbgemm_fp8");
  const TensorView scales = tensors.take(name + kScale, kScaleTypes, {numbers.rows, 1});
  numbers.group_columns = numbers.columns;
  numbers.scales = PackedScales{.stored = scales, .row_stride = 1};
  numbers.rounded_to = dtype;
  tensors.put(scaled_tensor(name, std::move(numbers)));
}

}  // namespace

void unpack_fp8(StoredTensors& tensors, const QuantizationInfo& info) {
  const Json block = setting(info.settings, "weight_block_size", Json::array({kUsualBlock, kUsualBlock}));
  for (const std::string& name : tensors.stems(kInverse))
    unpack_fp8_weight(tensors, name, block[0].get<int64_t>(), block[1].get<int64_t>(), info.dtype);
  require_scaled(tensors, kInverse);
}

void fp8_problems(const Json& settings, std::vector<std::string>& problems) {
  const auto is_size = [](const Json& e) { return e.is_number_integer() && e > 0 && e < INT32_MAX; };
  const Json block = setting(settings, "weight_block_size", Json::array({kUsualBlock, kUsualBlock}));
  if (!block.is_array() || block.size() != 2 || !is_size(block[0]) || !is_size(block[1]))
    problems.push_back(fmt::format("weight_block_size is {}: expected [rows, columns]", brief(block)));
  require_setting(settings, "activation_scheme", {"dynamic"}, problems);
  require_setting(settings, "fmt", {"e4m3"}, problems);
  require_setting(settings, "scale_fmt", {"float"}, problems);
}

void unpack_fbgemm(StoredTensors& tensors, const QuantizationInfo& info) {
  for (const std::string& name : tensors.stems(kScale)) unpack_fbgemm_weight(tensors, name, info.dtype);
  require_scaled(tensors, kScale);
}

void fbgemm_problems(const Json&, std::vector<std::string>&) {}

}  // namespace smelt
