// Super-blocks of 256 elements ("k-quants"). They have groups of 16 or 32 elements. A super-block has a scale
// d in f16, and perhaps a scale of minima m in f16. A group has an integer scale s, and perhaps an integer
// minimum n, so that an element with the integer q is (d * s) * q - (m * n).
#include "runtime/engine/weights/gguf/block_bytes.h"
#include "runtime/engine/weights/gguf/block_types.h"

namespace smelt {
namespace {

constexpr int kHalfSuper = 128;  // elements whose integers share bytes

/// Scale and minimum, of 6 bits each, of group `group` of 8 in the 12 bytes that Q4_K and Q5_K have.
struct ScaleAndMinimum {
  int scale, minimum;
};
ScaleAndMinimum six_bits(const std::byte* bytes, int group) {
  if (group < 4) return {byte_at(bytes, group) & 63, byte_at(bytes, group + 4) & 63};
  const int tops = byte_at(bytes, group - 4) >> 6, minimum_tops = byte_at(bytes, group) >> 6;
  return {low_nibble(bytes, group + 4) | tops << 4, high_nibble(bytes, group + 4) | minimum_tops << 4};
}

/// Scale, of 6 bits, of group `group` of 16 in the 12 bytes that Q3_K has.
int six_bit_scale(const std::byte* bytes, int group) {
  const int low = group < 8 ? low_nibble(bytes, group) : high_nibble(bytes, group - 8);
  const int top = byte_at(bytes, 8 + group % 4) >> (2 * (group / 4)) & 3;
  return (low | top << 4) - 32;
}

/// Writes 256 floats of groups of 32: the nibbles of 32 bytes are those of two groups.
template <typename IntegerOf>
void unpack_scaled_minima(const std::byte* block, float* out, IntegerOf integer_of) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  for (int group = 0; group < 8; ++group) {
    const auto [s, n] = six_bits(block + 4, group);
    const float scale = d * static_cast<float>(s), minimum = m * static_cast<float>(n);
    for (int i = 0; i < 32; ++i)
      out[group * 32 + i] = scale * static_cast<float>(integer_of(group, i)) - minimum;
  }
}

int nibble_of_group(const std::byte* nibbles, int group, int i) {
  return byte_at(nibbles, group / 2 * 32 + i) >> (group % 2 * 4) & 15;
}

/// Integer of 2 bits: 32 bytes have four times 32 elements.
int two_bits(const std::byte* bytes, int element) {
  const int half = element / kHalfSuper, quarter = element % kHalfSuper / 32;
  return byte_at(bytes, half * 32 + element % 32) >> (2 * quarter) & 3;
}

/// Integer of 6 bits of Q6_K: nibbles in `low`, and two bits in `high`.
int six_bit_integer(const std::byte* low, const std::byte* high, int element) {
  const int half = element / kHalfSuper, quarter = element % kHalfSuper / 32;
  const int nibble = byte_at(low, half * 64 + quarter % 2 * 32 + element % 32) >> (quarter / 2 * 4) & 15;
  return (nibble | two_bits(high, element) << 4) - 32;
}

}  // namespace

void unpack_q2_k(const std::byte* block, float* out) {
  const std::byte* integers = block + 16;
  const float d = half_at(block, 80), m = half_at(block, 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(low_nibble(block, group));
    const float minimum = m * static_cast<float>(high_nibble(block, group));
    for (int i = group * 16; i < group * 16 + 16; ++i)
      out[i] = scale * static_cast<float>(two_bits(integers, i)) - minimum;
  }
}

void unpack_q3_k(const std::byte* block, float* out) {
  const std::byte *integers = block + 32, *scales = block + 96;
  const float d = half_at(block, 108);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(six_bit_scale(scales, group));
    for (int i = group * 16; i < group * 16 + 16; ++i) {
      const int third = byte_at(block, i % 32) >> (i / 32) & 1;  // of the elements i, i + 32, ...
      out[i] = scale * static_cast<float>(two_bits(integers, i) - (third != 0 ? 0 : 4));
    }
  }
}

void unpack_q4_k(const std::byte* block, float* out) {
  const std::byte* nibbles = block + 16;
  unpack_scaled_minima(block, out, [=](int group, int i) { return nibble_of_group(nibbles, group, i); });
}

void unpack_q5_k(const std::byte* block, float* out) {
  const std::byte *fifth = block + 16, *nibbles = block + 48;
  unpack_scaled_minima(block, out, [=](int group, int i) {
    return nibble_of_group(nibbles, group, i) | (byte_at(fifth, i) >> group & 1) << 4;
  });
}

void unpack_q6_k(const std::byte* block, float* out) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = half_at(block, 208);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(signed_byte_at(scales, group));
    for (int i = group * 16; i < group * 16 + 16; ++i)
      out[i] = scale * static_cast<float>(six_bit_integer(low, high, i));
  }
}

}  // namespace smelt
