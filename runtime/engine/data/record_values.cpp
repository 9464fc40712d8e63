#include "runtime/engine/data/record_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors_types.h"

namespace smelt {
namespace {

constexpr DType kIntegers[] = {DType::i32, DType::i64, DType::u16, DType::u8, DType::boolean};
constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::bf16, DType::f64},
                kPixels[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::u8};
constexpr size_t kImageRank = 3;  // of a batch of them
constexpr int64_t kBlock = 4096;

std::span<const DType> readable(const Port& port) {
  if (port.dtype == DType::i32) return kIntegers;
  if (port.dtype != DType::f32) return {};
  return port.shape.size() < kImageRank ? std::span<const DType>(kNumbers) : kPixels;
}

template <typename Stored, typename T, typename Convert>
void convert(const std::byte* from, std::span<T> out, Convert to) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    out[i] = to(value);
  }
}

template <typename T>
void read_integers(DType stored, const std::byte* from, std::span<T> out) {
  const auto same = [](auto value) { return static_cast<T>(value); };
  if (stored == DType::i64) return convert<int64_t>(from, out, same);
  if (stored == DType::i32) return convert<int32_t>(from, out, same);
  if (stored == DType::u16) return convert<uint16_t>(from, out, same);
  convert<uint8_t>(from, out, same);
}

std::optional<std::string> fault(int64_t value, const Port& port) {
  if (port.ids && !port.ids->holds(value)) return fmt::format("{}, expected {}", value, str(*port.ids));
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    return fmt::format("{}, expected a number of 32 bits", value);
  return {};
}

std::optional<std::string> fault(float value, const Port&) {
  if (std::isfinite(value)) return {};
  return fmt::format("{}, expected a finite number", value);
}

void read_block(const TensorView& tensor, int64_t begin, std::span<int64_t> out) {
  read_integers(tensor.dtype, tensor.bytes.data() + begin * size_of(tensor.dtype), out);
}
void read_block(const TensorView& tensor, int64_t begin, std::span<float> out) {
  read_elements(tensor, begin, static_cast<int64_t>(out.size()), DType::f32,
                reinterpret_cast<std::byte*>(out.data()));
}

template <typename T>
std::optional<BadValue> find_bad(const TensorView& tensor, const Port& port) {
  std::vector<T> block(static_cast<size_t>(kBlock));
  for (int64_t begin = 0; begin < tensor.elements(); begin += kBlock) {
    block.resize(static_cast<size_t>(std::min(kBlock, tensor.elements() - begin)));
    read_block(tensor, begin, block);
    for (size_t i = 0; i < block.size(); ++i)
      if (auto text = fault(block[i], port)) return BadValue{begin + static_cast<int64_t>(i), *text};
  }
  return {};
}

}  // namespace

bool is_readable(DType stored, const Port& port) {
  return std::ranges::find(readable(port), stored) != readable(port).end();
}

std::string readable_names(const Port& port) {
  std::vector<std::string_view> names;
  for (const DType type : readable(port)) names.push_back(safetensors_name(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

void read_elements(const TensorView& tensor, int64_t begin, int64_t count, DType wanted, std::byte* out) {
  const std::byte* from = tensor.bytes.data() + begin * size_of(tensor.dtype);
  const auto n = static_cast<size_t>(count);
  if (wanted == tensor.dtype) {
    if (n > 0) std::memcpy(out, from, n * static_cast<size_t>(size_of(wanted)));
  } else if (wanted == DType::i32) {
    read_integers(tensor.dtype, from, std::span(reinterpret_cast<int32_t*>(out), n));
  } else if (tensor.dtype == DType::u8) {
    convert<uint8_t>(from, std::span(reinterpret_cast<float*>(out), n),
                     [](uint8_t value) { return static_cast<float>(value) / 255.0f; });
  } else {
    const auto bytes = tensor.bytes.subspan(static_cast<size_t>(begin * size_of(tensor.dtype)),
                                            n * static_cast<size_t>(size_of(tensor.dtype)));
    read_floats({tensor.name, tensor.dtype, {count}, bytes}, std::span(reinterpret_cast<float*>(out), n));
  }
}

std::optional<BadValue> find_bad_value(const TensorView& tensor, const Port& port) {
  return port.dtype == DType::i32 ? find_bad<int64_t>(tensor, port) : find_bad<float>(tensor, port);
}

}  // namespace smelt
