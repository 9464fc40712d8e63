// Blocks of 32 elements: a scale d in f16, for some types also a minimum m in f16, then the integers q. Byte
// i of nibbles has element i in its low half and element i + 16 in its high half.
#include "runtime/engine/weights/gguf/block_bytes.h"
#include "runtime/engine/weights/gguf/block_types.h"

namespace smelt {
namespace {

constexpr int kHalfBlock = 16;

/// Writes float_of(q) for the 32 nibbles from `nibbles` on.
template <typename FloatOf>
void unpack_nibbles(const std::byte* nibbles, float* out, FloatOf float_of) {
  for (int i = 0; i < kHalfBlock; ++i) {
    out[i] = float_of(low_nibble(nibbles, i));
    out[i + kHalfBlock] = float_of(high_nibble(nibbles, i));
  }
}

/// Does the same for integers of 5 bits, whose last bits are in the 4 bytes at `fifth`.
template <typename FloatOf>
void unpack_fives(const std::byte* fifth, const std::byte* nibbles, float* out, FloatOf float_of) {
  const auto top = [&](int i) { return (byte_at(fifth, i / 8) >> (i % 8) & 1) << 4; };
  for (int i = 0; i < kHalfBlock; ++i) {
    out[i] = float_of(low_nibble(nibbles, i) | top(i));
    out[i + kHalfBlock] = float_of(high_nibble(nibbles, i) | top(i + kHalfBlock));
  }
}

/// Integers of IQ4_NL, by their code.
constexpr float kNonlinear[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

void unpack_q4_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  unpack_nibbles(block + 2, out, [=](int q) { return d * static_cast<float>(q - 8); });
}

void unpack_q4_1(const std::byte* block, float* out) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  unpack_nibbles(block + 4, out, [=](int q) { return d * static_cast<float>(q) + m; });
}

void unpack_q5_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  unpack_fives(block + 2, block + 6, out, [=](int q) { return d * static_cast<float>(q - 16); });
}

void unpack_q5_1(const std::byte* block, float* out) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  unpack_fives(block + 4, block + 8, out, [=](int q) { return d * static_cast<float>(q) + m; });
}

void unpack_q8_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  for (int i = 0; i < 2 * kHalfBlock; ++i) out[i] = d * static_cast<float>(signed_byte_at(block, 2 + i));
}

void unpack_iq4_nl(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  unpack_nibbles(block + 2, out, [=](int q) { return d * kNonlinear[q]; });
}

}  // namespace smelt
