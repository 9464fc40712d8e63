// compressed-tensors. "pack-quantized": weight_packed I32 [out, words], whose words have integers of one row,
// plus 2^(bits - 1); weight_shape I64 [2]; and for asymmetric schemes weight_zero_point I32 [words, groups],
// packed likewise along outputs. "int-quantized", "float-quantized", "naive-quantized": weight I8 or F8_E4M3
// [out,in], and perhaps weight_zero_point I8. All have weight_scale: one element, [out, 1] or [out, groups],
// or one per block. The weight is (q - zero) * scale, rounded to the scales' type. If activations are rounded
// to int8 with a fixed scale per tensor, input_scale [1], they are so here too: 127 * input_scale is their
// bound.
#include <algorithm>

#include "runtime/engine/weights/packed/formats.h"
#include "runtime/engine/weights/packed/scaled_rows.h"
#include "runtime/engine/weights/stored_rows.h"
#include "runtime/plan/activation_bound.h"

namespace smelt {
namespace {

constexpr const char* kScaleName = "_scale";  // after "weight"

/// Values of a scheme's weights.
struct CompressedScheme {
  int bits;
  int64_t block_rows = 1, block_columns = 0;  // 0: all columns of a group
  bool rounds_inputs = false;                 // activations are int8, too, with a fixed scale
};

/// The bound of activations by their scale.
class BoundOfScale : public StoredRows {
 public:
  explicit BoundOfScale(TensorView scale) : scale_(std::move(scale)) {}
  void read(int64_t, int64_t, std::span<float> out) const override {
    constexpr float kSteps = 127;
    out[0] = kSteps * read_floats(scale_)[0];
  }
  std::span<const std::byte> stored() const override { return scale_.bytes; }

 private:
  TensorView scale_;
};

class CompressedReader {
 public:
  CompressedReader(StoredTensors& tensors, CompressedScheme scheme) : tensors_(tensors), scheme_(scheme) {}

  /// `name` of the weight.
  void unpack(const std::string& name) {
    name_ = name;
    numbers_ = tensors_.find(name + "_packed") ? packed() : bytes();
    add_scales();
    if (tensors_.find(name + "_g_idx"))
      tensors_.refuse(name + "_g_idx",
                      "groups of inputs in another order are not read: expected no such tensor");
    if (scheme_.rounds_inputs) bound_inputs();
    for (const char* kind : {"input_scale", "input_zero_point", "output_scale", "output_zero_point"})
      tensors_.take_if(name.substr(0, name.size() - std::string_view("weight").size()) + kind);
    tensors_.put(scaled_tensor(name, std::move(numbers_)));
  }

 private:
  void bound_inputs() {
    const std::string scale_name =
        name_.substr(0, name_.size() - std::string_view("weight").size()) + "input_scale";
    const TensorView scale = tensors_.take(scale_name, kScaleTypes);
    if (scale.elements() != 1) tensors_.refuse(scale_name, "{}, expected one element", describe(scale));
    tensors_.put(
        computed_tensor(activation_bound_of(name_), DType::f32, {}, std::make_shared<BoundOfScale>(scale)));
  }

  PackedNumbers packed() {
    const std::vector<int64_t> shape =
        read_stored_integers(tensors_.take(name_ + "_shape", {DType::i64, DType::i32}, {2}));
    constexpr int64_t kMost = int64_t{1} << 31;
    if (std::ranges::any_of(shape, [](int64_t size) { return size < 1 || size > kMost; }))
      tensors_.refuse(name_ + "_shape", "[{},{}]: expected sizes of at least 1", shape[0], shape[1]);
    const int64_t words = (shape[1] * scheme_.bits + 31) / 32;
    const TensorView stored = tensors_.take(name_ + "_packed", {DType::i32}, {shape[0], words});
    PackedNumbers numbers{.format = "pack-quantized", .rows = shape[0], .columns = shape[1]};
    numbers.numbers = {.stored = stored,
                       .bits = scheme_.bits,
                       .row_stride = words,
                       .column_stride = 1,
                       .addend = -(1 << (scheme_.bits - 1))};
    return numbers;
  }

  PackedNumbers bytes() {
    const TensorView* stored = tensors_.find(name_);
    const PackedNumbers* packed = stored && stored->source ? stored->source->packed() : nullptr;
    if (packed && stored->shape.size() == 2 && stored->elements() > 0) {
      PackedNumbers numbers = *packed;
      tensors_.take_if(name_);
      numbers.format = "float-quantized";
      return numbers;
    }
    const TensorView weight = tensors_.take(name_, {DType::i8});
    if (weight.shape.size() != 2) tensors_.refuse(name_, "{}, expected two dims", describe(weight));
    PackedNumbers numbers{.format = "int-quantized", .rows = weight.shape[0], .columns = weight.shape[1]};
    numbers.numbers = {.kind = PackedMatrix::Kind::int8,
                       .stored = weight,
                       .row_stride = weight.shape[1],
                       .column_stride = 1};
    return numbers;
  }

  /// One scale, one per row, or one per group or block.
  void add_scales() {
    const TensorView scales = tensors_.take(name_ + kScaleName, kScaleTypes);
    const bool one = scales.elements() == 1;
    const int64_t row_groups = (numbers_.rows + scheme_.block_rows - 1) / scheme_.block_rows;
    const int64_t groups = one ? 1 : scales.elements() / row_groups;
    const bool fits =
        one || (groups > 0 && scales.elements() == row_groups * groups && scales.shape[0] == row_groups);
    if (!fits)
      tensors_.refuse(scales.name, "{}, expected one element, or [{},groups]", describe(scales), row_groups);
    set_group_width(scales, groups);
    numbers_.group_rows = one ? numbers_.rows : scheme_.block_rows;
    numbers_.scales = PackedScales{.stored = scales, .row_stride = groups, .group_stride = 1};
    numbers_.rounded_to = scales.dtype;
    add_zeros(one ? 1 : row_groups, groups);
  }

  void set_group_width(const TensorView& scales, int64_t groups) {
    const int64_t width =
        scheme_.block_columns > 0 && groups > 1 ? scheme_.block_columns : numbers_.columns / groups;
    const bool fits = scheme_.block_columns > 0 && groups > 1
                          ? (numbers_.columns + width - 1) / width == groups
                          : numbers_.columns % groups == 0;
    if (!fits) tensors_.refuse(scales.name, "{} groups do not divide {} inputs", groups, numbers_.columns);
    numbers_.group_columns = width;
  }

  void add_zeros(int64_t rows, int64_t groups) {
    const std::string name = name_ + "_zero_point";
    if (!tensors_.find(name)) return;
    const bool words = numbers_.numbers.kind == PackedMatrix::Kind::words;
    const TensorView zeros = tensors_.take(name, {words ? DType::i32 : DType::i8});
    const int64_t expected = (words ? (rows * scheme_.bits + 31) / 32 : rows) * groups;
    if (zeros.elements() != expected)
      tensors_.refuse(name, "{}, expected {} elements", describe(zeros), expected);
    numbers_.zeros = PackedMatrix{.kind = words ? PackedMatrix::Kind::words : PackedMatrix::Kind::int8,
                                  .stored = zeros,
                                  .bits = scheme_.bits,
                                  .row_stride = groups,
                                  .column_stride = 1,
                                  .packs_rows = true,
                                  .addend = numbers_.numbers.addend};
  }

  StoredTensors& tensors_;
  CompressedScheme scheme_;
  std::string name_;
  PackedNumbers numbers_;
};

/// The weights of each group of modules.
std::vector<Json> weight_schemes(const Json& settings) {
  std::vector<Json> schemes;
  const Json groups = setting(settings, "config_groups", Json::object());
  for (const auto& [name, group] : groups.items())
    schemes.push_back(group.is_object() ? setting(group, "weights", nullptr) : Json(nullptr));
  return schemes;
}

/// Returns whether a group's weights and activations are int8, with scales that the file has.
bool rounds_inputs(const Json& group) {
  const Json inputs = setting(group, "input_activations", nullptr),
             weights = setting(group, "weights", nullptr);
  if (!inputs.is_object() || !weights.is_object()) return false;
  const auto is_bytes = [](const Json& numbers) {
    return setting(numbers, "num_bits", 0) == 8 && setting(numbers, "type", "int") == "int" &&
           setting(numbers, "symmetric", true) == true && setting(numbers, "dynamic", false) == false;
  };
  const Json of_weights = setting(weights, "strategy", nullptr);
  return is_bytes(inputs) && is_bytes(weights) && setting(inputs, "strategy", "tensor") == "tensor" &&
         (of_weights == "tensor" || of_weights == "channel");
}

bool all_round_inputs(const Json& settings) {
  const Json groups = setting(settings, "config_groups", Json::object());
  return !groups.empty() && std::ranges::all_of(groups, rounds_inputs);
}

}  // namespace

void unpack_compressed(StoredTensors& tensors, const QuantizationInfo& info) {
  const Json weights = weight_schemes(info.settings).at(0);
  CompressedScheme scheme{.bits = weights.at("num_bits").get<int>()};
  if (const Json block = setting(weights, "block_structure", nullptr); block.is_array())
    scheme.block_rows = block[0].get<int64_t>(), scheme.block_columns = block[1].get<int64_t>();
  scheme.rounds_inputs = all_round_inputs(info.settings);
  CompressedReader reader(tensors, scheme);
  constexpr std::string_view kWeightScale = "weight_scale";
  for (const std::string& stem : tensors.stems(kWeightScale)) reader.unpack(stem + "weight");
  for (const std::string& stem : tensors.stems("weight_packed"))
    tensors.refuse(stem + std::string(kWeightScale), "missing: expected the scales of {}weight_packed", stem);
  for (const std::string& stem : tensors.stems(".weight"))
    if (const TensorView& w = *tensors.find(stem + ".weight");
        (w.source && w.source->packed()->format == "F8_E4M3") || (!w.source && !is_float(w.dtype)))
      tensors.refuse(stem + "." + std::string(kWeightScale), "missing: expected the scales of {}",
                     describe(w));
}

void compressed_problems(const Json& settings, std::vector<std::string>& problems) {
  require_setting(settings, "format",
                  {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "dense"},
                  problems);
  require_setting(settings, "transform_config", {Json::object()}, problems);
  const Json sparse = setting(settings, "sparsity_config", Json::object());
  if (sparse.is_object()) require_setting(sparse, "format", {"dense"}, problems);
  const std::vector<Json> schemes = weight_schemes(settings);
  if (schemes.empty()) problems.emplace_back("config_groups is missing: expected a group with weights");
  for (const Json& weights : schemes) {
    if (!weights.is_object() || !setting(weights, "num_bits", nullptr).is_number_unsigned()) {
      problems.emplace_back("config_groups: expected weights with num_bits in each group");
      continue;
    }
    require_setting(weights, "num_bits", {4, 8}, problems);
    require_setting(weights, "type", {"int", "float"}, problems);
    require_setting(weights, "strategy", {"tensor", "channel", "group", "block"}, problems);
    const Json block = setting(weights, "block_structure", Json::array({1, 1}));
    const auto is_size = [](const Json& e) { return e.is_number_integer() && e > 0 && e < INT32_MAX; };
    if (!block.is_array() || block.size() != 2 || !is_size(block[0]) || !is_size(block[1]))
      problems.push_back(fmt::format("block_structure is {}: expected [rows, columns]", brief(block)));
    for (const char* name : {"num_bits", "block_structure"})
      if (setting(weights, name, nullptr) != setting(schemes.front(), name, nullptr))
        problems.push_back(
            fmt::format("config_groups: {} differs between groups: expected one for all", name));
  }
}

std::string compressed_warning(const Json& settings) {
  const Json groups = setting(settings, "config_groups", Json::object());
  for (const auto& [name, group] : groups.items())
    if (!setting(group, "input_activations", nullptr).is_null() && !all_round_inputs(settings))
      return "the model's activations are quantised while it runs, by its quantization_config: here they "
             "stay "
             "floats, and only its weights have the quantised values";
  if (!setting(settings, "kv_cache_scheme", nullptr).is_null())
    return "the model's caches of keys and values are quantised, by its quantization_config: here they stay "
           "in the "
           "type of --precision";
  return {};
}

}  // namespace smelt
