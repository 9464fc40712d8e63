// GPTQ: qweight I32 [in * bits / 32, out], whose words have integers of one column; qzeros I32
// [groups, out * bits / 32], whose words have integers of one row; scales [groups, out]; and perhaps g_idx
// I32 [in], the group of each input. The weight [out,in] is scale * (q - zero), rounded to the scales' type.
// The format "gptq" stores zero points minus 1, "gptq_v2" as they are.
#include <algorithm>

#include "runtime/engine/weights/packed/formats.h"
#include "runtime/engine/weights/packed/scaled_rows.h"

namespace smelt {
namespace {

constexpr const char* kQweight = ".qweight";

class GptqReader {
 public:
  GptqReader(StoredTensors& tensors, const Json& settings)
      : tensors_(tensors),
        bits_(settings.at("bits").get<int>()),
        stored_less_one_(gptq_format(settings) == "gptq") {}

  void unpack(const std::string& stem) {
    const std::string name = stem + kQweight;
    TensorView words = tensors_.take(name, {DType::i32});
    if (words.shape.size() != 2) tensors_.refuse(name, "{}, expected two dims", describe(words));
    const int64_t columns = words.shape[0] * 32 / bits_, rows = words.shape[1];
    if (words.shape[0] % bits_ != 0 && 32 % bits_ != 0)
      tensors_.refuse(name, "{}, expected a multiple of {} words per output", describe(words), bits_);
    PackedNumbers numbers{.format = "gptq", .rows = rows, .columns = columns};
    numbers.numbers = {.stored = words, .bits = bits_, .row_stride = 1, .column_stride = rows};
    add_groups(stem, numbers);
    tensors_.put(scaled_tensor(stem + ".weight", std::move(numbers)));
  }

  static std::string gptq_format(const Json& settings) {
    for (const char* name : {"checkpoint_format", "format"})
      if (const Json value = setting(settings, name, nullptr); value.is_string())
        return value.get<std::string>();
    return "gptq";
  }

 private:
  void add_groups(const std::string& stem, PackedNumbers& numbers) {
    TensorView scales = tensors_.take(stem + ".scales", kScaleTypes);
    const bool fits = scales.shape.size() == 2 && scales.shape[0] > 0 && scales.shape[1] == numbers.rows;
    if (!fits) tensors_.refuse(scales.name, "{}, expected [groups,{}]", describe(scales), numbers.rows);
    const int64_t groups = scales.shape[0], words = (numbers.rows * bits_ + 31) / 32;
    TensorView zeros = tensors_.take(stem + ".qzeros", {DType::i32}, {groups, words});
    numbers.rounded_to = scales.dtype;
    numbers.scales = PackedScales{.stored = scales, .row_stride = 1, .group_stride = numbers.rows};
    numbers.zeros = PackedMatrix{.stored = zeros,
                                 .bits = bits_,
                                 .row_stride = 1,
                                 .column_stride = words,
                                 .packs_rows = true,
                                 .addend = stored_less_one_ ? 1 : 0};
    add_order(stem, groups, numbers);
  }

  void add_order(const std::string& stem, int64_t groups, PackedNumbers& numbers) {
    numbers.group_columns = (numbers.columns + groups - 1) / groups;
    const auto order = tensors_.take_if(stem + ".g_idx");
    if (!order) {
      if (numbers.columns % groups != 0)
        tensors_.refuse(stem + ".scales", "{} groups do not divide {} inputs", groups, numbers.columns);
      return;
    }
    if (order->dtype != DType::i32 || order->source || order->shape != std::vector{numbers.columns})
      tensors_.refuse(order->name, "{}, expected I32 [{}]", describe(*order), numbers.columns);
    for (const int64_t group : read_stored_integers(*order)) {
      if (group < 0 || group >= groups)
        tensors_.refuse(order->name, "input {} is in group {}: expected one of {} groups",
                        numbers.groups.size(), group, groups);
      numbers.groups.push_back(static_cast<int32_t>(group));
    }
  }

  StoredTensors& tensors_;
  int bits_;
  bool stored_less_one_;
};

}  // namespace

void unpack_gptq(StoredTensors& tensors, const QuantizationInfo& info) {
  GptqReader reader(tensors, info.settings);
  for (const std::string& stem : tensors.stems(kQweight)) reader.unpack(stem);
}

void gptq_problems(const Json& settings, std::vector<std::string>& problems) {
  if (setting(settings, "bits", nullptr).is_null())
    problems.emplace_back("bits is missing: expected 2, 3, 4 or 8");
  require_setting(settings, "bits", {2, 3, 4, 8}, problems);
  for (const char* name : {"checkpoint_format", "format"})
    require_setting(settings, name, {"gptq", "gptq_v2"}, problems);
  require_setting(settings, "is_marlin_format", {false}, problems);
  require_setting(settings, "pack_dtype", {"int32"}, problems);
  const Json dynamic = setting(settings, "dynamic", Json::object());
  for (const auto& [modules, overrides] : dynamic.items())
    if (!modules.starts_with("-"))
      problems.push_back(
          fmt::format("dynamic: '{}' has settings of its own: expected one number of bits for all "
                      "modules",
                      modules));
}

}  // namespace smelt
