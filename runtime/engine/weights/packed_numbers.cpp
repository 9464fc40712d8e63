#include "runtime/engine/weights/packed_numbers.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/half.h"

namespace smelt {
namespace {

constexpr int kWordBits = 32;
/// Place of integer i among the eight of a word.
constexpr std::array<int, 8> kAwqPlaces = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t word_at(const TensorView& words, int64_t i) {
  uint32_t word;
  std::memcpy(&word, words.bytes.data() + i * static_cast<int64_t>(sizeof word), sizeof word);
  return word;
}

int byte_of(const TensorView& tensor, int64_t i) {
  return std::to_integer<uint8_t>(tensor.bytes[static_cast<size_t>(i)]);
}

/// The integer whose bits begin in one word and may end in the next one.
uint32_t integer_at(const PackedMatrix& matrix, int64_t row, int64_t column) {
  int64_t packed = matrix.packs_rows ? row : column;
  if (matrix.interleaved) packed += kAwqPlaces[static_cast<size_t>(packed % 8)] - packed % 8;
  const int64_t bit = packed * matrix.bits, word = bit / kWordBits;
  const int64_t next = matrix.packs_rows ? matrix.row_stride : matrix.column_stride;
  const int64_t at =
      word * next + (matrix.packs_rows ? column * matrix.column_stride : row * matrix.row_stride);
  const int shift = static_cast<int>(bit % kWordBits);
  uint64_t bits = word_at(matrix.stored, at);
  if (shift + matrix.bits > kWordBits) bits |= uint64_t{word_at(matrix.stored, at + next)} << kWordBits;
  return static_cast<uint32_t>(bits >> shift) & ((1u << matrix.bits) - 1);
}

/// Without a branch for each special case: a table of all values.
std::array<float, 256> float8_values() {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    if ((bits & 127) == 127) value = std::numeric_limits<float>::quiet_NaN();
    values[static_cast<size_t>(bits)] = (bits & 128) != 0 ? -value : value;
  }
  return values;
}

}  // namespace

float from_float8(uint8_t bits) {
  static const std::array<float, 256> values = float8_values();
  return values[bits];
}

float rounded(float value, DType type) {
  if (type == DType::bf16) return from_bf16(to_bf16(value));
  return type == DType::f16 ? from_f16(to_f16(value)) : value;
}

float PackedMatrix::at(int64_t row, int64_t column) const {
  const int64_t at = row * row_stride + column * column_stride;
  switch (kind) {
    case Kind::words:
      return static_cast<float>(static_cast<int>(integer_at(*this, row, column)) + addend);
    case Kind::int8:
      return static_cast<float>(static_cast<int8_t>(byte_of(stored, at)) + addend);
    case Kind::float8:
      return from_float8(static_cast<uint8_t>(byte_of(stored, at)));
    default:
      return static_cast<float>(byte_of(stored, at / 2) >> (at % 2 == 0 ? 4 : 0) & 15);
  }
}

float PackedScales::at(int64_t row, int64_t group) const {
  const int64_t i = row * row_stride + group * group_stride;
  const std::byte* bytes = stored.bytes.data() + i * size_of(stored.dtype);
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  if (stored.dtype == DType::bf16) return from_bf16(half);
  if (stored.dtype == DType::f16) return from_f16(half);
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace smelt
