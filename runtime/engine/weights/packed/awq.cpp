// AWQ (gemm): qweight I32 [in, out / 8] and qzeros I32 [groups, out / 8], whose words have eight integers of
// 4 bits of one row in the order 0, 2, 4, 6, 1, 3, 5, 7; and scales [groups, out]. The weight [out,in] is
// (q - zero) * scale, rounded to the scales' type.
#include "runtime/engine/weights/packed/formats.h"
#include "runtime/engine/weights/packed/scaled_rows.h"

namespace smelt {
namespace {

constexpr const char* kAwqWords = ".qweight";
constexpr int64_t kAwqPerWord = 8;

PackedMatrix awq_matrix(const TensorView& words) {
  return {.stored = words,
          .bits = 4,
          .row_stride = 1,
          .column_stride = words.shape[1],
          .packs_rows = true,
          .interleaved = true};
}

void unpack_awq_weight(StoredTensors& tensors, const std::string& stem) {
  TensorView words = tensors.take(stem + kAwqWords, {DType::i32});
  TensorView scales = tensors.take(stem + ".scales", kScaleTypes);
  if (words.shape.size() != 2) tensors.refuse(words.name, "{}, expected two dims", describe(words));
  const int64_t columns = words.shape[0], rows = words.shape[1] * kAwqPerWord;
  const bool fits = scales.shape.size() == 2 && scales.shape[0] > 0 && scales.shape[1] == rows;
  if (!fits) tensors.refuse(scales.name, "{}, expected [groups,{}]", describe(scales), rows);
  const int64_t groups = scales.shape[0];
  if (columns % groups != 0)
    tensors.refuse(scales.name, "{} groups do not divide {} inputs", groups, columns);
  const TensorView zeros = tensors.take(stem + ".qzeros", {DType::i32}, {groups, words.shape[1]});
  PackedNumbers numbers{.format = "awq", .rows = rows, .columns = columns, .group_columns = columns / groups};
  numbers.numbers = awq_matrix(words), numbers.zeros = awq_matrix(zeros);
  numbers.scales = PackedScales{.stored = scales, .row_stride = 1, .group_stride = rows};
  numbers.rounded_to = scales.dtype;
  tensors.put(scaled_tensor(stem + ".weight", std::move(numbers)));
}

}  // namespace

void unpack_awq(StoredTensors& tensors, const QuantizationInfo&) {
  for (const std::string& stem : tensors.stems(kAwqWords)) unpack_awq_weight(tensors, stem);
}

void awq_problems(const Json& settings, std::vector<std::string>& problems) {
  for (const char* name : {"bits", "w_bit"}) require_setting(settings, name, {4}, problems);
  for (const char* name : {"version", "format", "checkpoint_format"})
    require_setting(settings, name, {"gemm", "GEMM"}, problems);
  require_setting(settings, "pack_dtype", {"int32"}, problems);
}

}  // namespace smelt
