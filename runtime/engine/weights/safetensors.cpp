// Types and the writer.
#include "runtime/engine/weights/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors_types.h"

namespace smelt {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 10> kTypes = {{
    {DType::f32, "F32"},
    {DType::f16, "F16"},
    {DType::bf16, "BF16"},
    {DType::f64, "F64"},
    {DType::i64, "I64"},
    {DType::i32, "I32"},
    {DType::u16, "U16"},
    {DType::u8, "U8"},
    {DType::i8, "I8"},
    {DType::boolean, "BOOL"},
}};

uint64_t expected_bytes(const TensorView& tensor) {
  uint64_t bytes = static_cast<uint64_t>(size_of(tensor.dtype));
  for (const int64_t extent : tensor.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      fail("tensor '{}': its size overflows 64 bits", tensor.name);
  return bytes;
}

void check_for_writing(std::span<const TensorView> tensors) {
  std::set<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      fail("tensor '{}': expected a name of its own", tensor.name);
    if (tensor.source) fail("tensor '{}' is packed: expected its floats", tensor.name);
    if (expected_bytes(tensor) != tensor.bytes.size())
      fail("tensor '{}' has {} bytes: expected {} for {}", tensor.name, tensor.bytes.size(),
           expected_bytes(tensor), describe(tensor));
  }
}

std::string header(const std::vector<const TensorView*>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const TensorView* tensor : tensors) {
    root[tensor->name] = {{"dtype", safetensors_name(tensor->dtype)},
                          {"shape", tensor->shape},
                          {"data_offsets", {at, at + tensor->bytes.size()}}};
    at += tensor->bytes.size();
  }
  try {
    std::string text = root.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const nlohmann::json::exception& error) {
    fail("a safetensors header cannot be written: expected names in UTF-8 ({})", error.what());
  }
}

}  // namespace

std::optional<DType> safetensors_dtype(std::string_view name) {
  for (const auto& [dtype, spelling] : kTypes)
    if (spelling == name) return dtype;
  return std::nullopt;
}

std::string_view safetensors_name(DType dtype) {
  return std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.first == dtype; })
      ->second;
}

std::string safetensors_dtype_names() {
  std::vector<std::string_view> names;
  for (const auto& row : kTypes) names.push_back(row.second);
  names.push_back(kFloat8Name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_for_writing(tensors);
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return size_of(a->dtype) > size_of(b->dtype);
  });
  const std::string text = header(order, metadata);
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));
  AtomicFile file(path);
  file.write(length);
  file.write(text);
  for (const TensorView* tensor : order) file.write(tensor->bytes);
  file.commit();
}

}  // namespace smelt
