// bitsandbytes. 8 bits: weight I8 [out,in] and SCB F32 [out]; the float is (q * SCB) * (1 / 127) in f32.
// 4 bits: weight U8 [elements / 2, 1], two codes per byte; quant_map F32 [16], the value of each code;
// absmax, the scale of each block of elements; and the JSON of a quant_state. With nested statistics, absmax
// is U8: codes of nested_quant_map, scaled by blocks with nested_absmax, to which nested_offset is added.
#include <cmath>
#include <string>

#include "runtime/engine/weights/packed/formats.h"
#include "runtime/engine/weights/packed/scaled_rows.h"
#include "runtime/engine/weights/stored_rows.h"

namespace smelt {
namespace {

constexpr const char *kScb = ".SCB", *kState = ".quant_state.bitsandbytes__", *kCodes = ".weight";
constexpr float kPerStep = 7.874015718698502e-3F;  // 1 / 127, in the digits of the reference

void unpack_eight_bits(StoredTensors& tensors, const std::string& stem) {
  const TensorView weight = tensors.take(stem + kCodes, {DType::i8});
  if (weight.shape.size() != 2) tensors.refuse(weight.name, "{}, expected two dims", describe(weight));
  const int64_t rows = weight.shape[0], columns = weight.shape[1];
  const TensorView scales = tensors.take(stem + kScb, {DType::f32}, {rows});
  tensors.take_if(stem + ".weight_format");  // the order of rows in memory, which files do not change
  PackedNumbers numbers{
      .format = "bitsandbytes int8", .rows = rows, .columns = columns, .group_columns = columns};
  numbers.numbers = {
      .kind = PackedMatrix::Kind::int8, .stored = weight, .row_stride = columns, .column_stride = 1};
  numbers.scales = PackedScales{.stored = scales, .row_stride = 1};
  numbers.factor = kPerStep;
  tensors.put(scaled_tensor(stem + kCodes, std::move(numbers)));
}

/// Elements in order, a scale for each block of them.
class LookupRows : public StoredRows {
 public:
  LookupRows(PackedNumbers numbers, std::vector<float> scales)
      : numbers_(std::move(numbers)), scales_(std::move(scales)) {}

  const PackedNumbers* packed() const override { return &numbers_; }
  std::span<const std::byte> stored() const override { return numbers_.numbers.stored.bytes; }
  void read(int64_t begin, int64_t end, std::span<float> out) const override {
    for (int64_t i = begin * numbers_.columns; i < end * numbers_.columns; ++i) {
      const auto code = static_cast<size_t>(numbers_.numbers.at(0, i));
      const float scale = scales_[static_cast<size_t>(i / numbers_.group_columns)];
      out[static_cast<size_t>(i - begin * numbers_.columns)] =
          rounded(numbers_.table[code] * scale, numbers_.rounded_to);
    }
  }

 private:
  PackedNumbers numbers_;
  std::vector<float> scales_;
};

/// The parsed quant_state of one weight.
class FourBitReader {
 public:
  FourBitReader(StoredTensors& tensors, const std::string& stem, const std::string& kind)
      : tensors_(tensors), name_(stem + kCodes), state_name_(name_ + kState + kind) {
    const TensorView stored = tensors_.take(state_name_, {DType::u8});
    state_ =
        parse_json({reinterpret_cast<const char*>(stored.bytes.data()), stored.bytes.size()}, state_name_);
  }

  void unpack() {
    const std::vector<int64_t> shape = state_shape();
    const int64_t elements = shape[0] * shape[1], block = integer("blocksize");
    const int64_t blocks = (elements + block - 1) / block;
    const TensorView codes = tensors_.take(name_, {DType::u8});
    if (codes.elements() != (elements + 1) / 2)
      tensors_.refuse(name_, "{}, expected {} bytes for [{},{}]", describe(codes), (elements + 1) / 2,
                      shape[0], shape[1]);
    PackedNumbers numbers{.format = format(), .rows = shape[0], .columns = shape[1], .group_columns = block};
    numbers.numbers = {.kind = PackedMatrix::Kind::nibbles, .stored = codes, .bits = 4, .column_stride = 1};
    numbers.table = read_floats(tensors_.take(name_ + ".quant_map", {DType::f32}, {16}));
    numbers.rounded_to = dtype();
    const DType rounded_to = numbers.rounded_to;
    auto source = std::make_shared<LookupRows>(std::move(numbers), scales(blocks));
    tensors_.put(computed_tensor(name_, rounded_to, shape, std::move(source)));
  }

 private:
  int64_t integer(const char* key) const {
    const Json value = setting(state_, key, nullptr);
    if (!value.is_number_unsigned() || value < 1 || value > (1 << 30))
      tensors_.refuse(state_name_, "{} is {}: expected an integer of at least 1", key, brief(value));
    return value.get<int64_t>();
  }

  std::vector<int64_t> state_shape() const {
    const Json shape = setting(state_, "shape", nullptr);
    const auto is_size = [](const Json& e) { return e.is_number_integer() && e > 0 && e < INT32_MAX; };
    if (!shape.is_array() || shape.size() != 2 || !is_size(shape[0]) || !is_size(shape[1]))
      tensors_.refuse(state_name_, "shape is {}: expected [rows, columns]", brief(shape));
    return shape.get<std::vector<int64_t>>();
  }

  std::string_view format() const {
    const Json kind = setting(state_, "quant_type", nullptr);
    if (kind != "nf4" && kind != "fp4")
      tensors_.refuse(state_name_, "quant_type is {}: expected nf4 or fp4", brief(kind));
    return kind == "nf4" ? "bitsandbytes nf4" : "bitsandbytes fp4";
  }

  DType dtype() const {
    const Json name = setting(state_, "dtype", nullptr);
    if (name == "float32") return DType::f32;
    if (name == "float16") return DType::f16;
    if (name != "bfloat16")
      tensors_.refuse(state_name_, "dtype is {}: expected float32, float16 or bfloat16", brief(name));
    return DType::bf16;
  }

  std::vector<float> scales(int64_t blocks) {
    const TensorView absmax = tensors_.take(name_ + ".absmax", {DType::f32, DType::u8}, {blocks});
    return absmax.dtype == DType::f32 ? read_floats(absmax) : nested_scales(absmax);
  }

  std::vector<float> nested_scales(const TensorView& codes) {
    const int64_t block = integer("nested_blocksize"), count = codes.elements();
    const std::vector<float> values =
        read_floats(tensors_.take(name_ + ".nested_quant_map", {DType::f32}, {256}));
    const std::vector<float> outer =
        read_floats(tensors_.take(name_ + ".nested_absmax", {DType::f32}, {(count + block - 1) / block}));
    const Json offset = setting(state_, "nested_offset", nullptr);
    if (!offset.is_number())
      tensors_.refuse(state_name_, "nested_offset is {}: expected a number", brief(offset));
    std::vector<float> scales;
    for (int64_t i = 0; i < count; ++i) {
      const auto code = std::to_integer<size_t>(codes.bytes[static_cast<size_t>(i)]);
      const float scaled = values[code] * outer[static_cast<size_t>(i / block)];
      scales.push_back(scaled + offset.get<float>());
    }
    return scales;
  }

  StoredTensors& tensors_;
  std::string name_, state_name_;
  Json state_;
};

}  // namespace

void unpack_bitsandbytes(StoredTensors& tensors, const QuantizationInfo&) {
  for (const std::string& stem : tensors.stems(kScb)) unpack_eight_bits(tensors, stem);
  for (const char* kind : {"nf4", "fp4"})
    for (const std::string& stem : tensors.stems(std::string(kCodes) + kState + kind))
      FourBitReader(tensors, stem, kind).unpack();
  for (const std::string& stem : tensors.stems(kCodes))
    if (const TensorView& weight = *tensors.find(stem + kCodes); !weight.source && !is_float(weight.dtype))
      tensors.refuse(weight.name,
                     "{}, whose statistics are missing: expected SCB, or absmax and a quant_state",
                     describe(weight));
}

void bitsandbytes_problems(const Json& settings, std::vector<std::string>& problems) {
  require_setting(settings, "bnb_4bit_quant_type", {"nf4", "fp4"}, problems);
  require_setting(settings, "bnb_4bit_quant_storage", {"uint8"}, problems);
}

}  // namespace smelt
