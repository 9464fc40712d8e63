// Decode attention on tensor cores (codegen/cuda/device/attention/decode/) without a GPU: text that replaces
// its PTX instructions by functions for a CPU.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/device_text.h"
#include "runtime/base/error.h"

namespace smelt::test {

/// Text that replaces device::kAttentionDecodeInstructions.
inline constexpr const char* kDecodeOnHost = R"(
constexpr bool kIsBf16 = MMA_TYPE[0] == 'b';
inline float low_of(unsigned word) {
  if (kIsBf16) return __uint_as_float(word << 16);
  const unsigned short bits = (unsigned short)word;
  _Float16 x;
  memcpy(&x, &bits, 2);
  return (float)x;
}
inline float high_of(unsigned word) { return low_of(word >> 16); }
inline unsigned half_of(float x) {
  if (kIsBf16) {
    const unsigned bits = __float_as_uint(x);
    return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  const _Float16 half = (_Float16)x;
  unsigned short bits;
  memcpy(&bits, &half, 2);
  return bits;
}
inline unsigned pack(float low, float high) { return half_of(low) | half_of(high) << 16; }
inline unsigned multiply_pairs(unsigned x, unsigned y) {
  return pack(low_of(x) * low_of(y), high_of(x) * high_of(y));
}
inline unsigned add_pairs(unsigned x, unsigned y) {
  return pack(low_of(x) + low_of(y), high_of(x) + high_of(y));
}
inline unsigned (&own_lanes())[32][6] {
  static thread_local unsigned lanes[32][32][6];
  return lanes[threadIdx.x / 32];
}
inline void transpose(unsigned& word) {
  auto& lanes = own_lanes();
  const int lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
  lanes[lane][0] = word;
  __syncwarp(~0u);
  const auto at = [&](int r, int c) { return lanes[4 * r + c / 2][0] >> 16 * (c % 2) & 0xffff; };
  word = at(column, row) | at(column + 1, row) << 16;
  __syncwarp(~0u);
}
inline void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  host::multiply(d, own_lanes(), {a[0], a[1], a[2], a[3], b0, b1}, low_of);
}
)";

/// Returns the text of a kernel of decode attention on tensor cores in a form that the host's compiler
/// accepts.
inline std::string decode_host_source(std::string text) {
  const std::string_view from = device::kAttentionDecodeInstructions;
  const size_t at = text.find(from);
  if (at == std::string::npos) fail("the text has no {}", from);
  return text.replace(at, from.size(), kDecodeOnHost);
}

}  // namespace smelt::test
