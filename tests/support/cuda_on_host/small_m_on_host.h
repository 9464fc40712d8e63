// The small-M GEMM template (codegen/cuda/small_m/) without a GPU: text that replaces its PTX instructions by
// functions for a CPU.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "runtime/base/error.h"

namespace smelt::test {

/// Text before all kernels.
inline constexpr const char* kTensorCoreDevice = R"(
struct uint4 { unsigned x, y, z, w; };
alignas(16) static thread_local unsigned char host_memory[128 << 10];
static thread_local unsigned host_lanes[32][32][6];  // of warps: what lanes show each other

inline float widen_bf16(unsigned bits) { return __uint_as_float(bits << 16); }
inline float widen_f16(unsigned bits) {
  const unsigned short half = (unsigned short)bits;
  _Float16 x;
  memcpy(&x, &half, 2);
  return (float)x;
}
)";

/// Text that replaces device::kSmallMGemmInstructions; WIDEN is one of the functions above.
inline constexpr const char* kSmallMOnHost = R"(
inline void load_four(unsigned* to, const Half* from, bool is_there) {
  for (int i = 0; i < 4; ++i) to[i] = 0;
  if (is_there) memcpy(to, from, 16);
}
inline void load_four_staged(unsigned* to, const Half* from, bool is_there) { load_four(to, from, is_there); }
inline void load_weights(void* to, const void* from, bool is_there) {
  unsigned words[4];
  load_four(words, (const Half*)from, is_there);
  memcpy(to, words, 16);
}
inline void end_piece() {}
template <int left> void wait_for_pieces() {}
inline void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  host::multiply(d, host_lanes[threadIdx.x / 32], {a0, a1, a2, a3, b0, b1}, [](unsigned bits) { return WIDEN(bits); });
}
)";

/// Text that replaces device::kSmallMGemmWidenBytes.
inline constexpr const char* kWidenOnHost = R"(
inline void widen_bf16(unsigned (&to)[2], unsigned from) {
  for (int i = 0; i < 4; ++i) {
    const unsigned bits = __float_as_uint((float)(signed char)(from >> 8 * i)) >> 16;
    to[i / 2] = i % 2 ? to[i / 2] | bits << 16 : bits;
  }
}
inline void widen_f16(unsigned (&to)[2], unsigned from) {
  for (int i = 0; i < 4; ++i) {
    const _Float16 x = (_Float16)(signed char)(from >> 8 * i);
    unsigned short bits;
    memcpy(&bits, &x, 2);
    to[i / 2] = i % 2 ? to[i / 2] | (unsigned)bits << 16 : bits;
  }
}
)";

/// Returns the text of a kernel in a form that the host's compiler accepts. The macros that it defines are
/// undefined by small_m_undefined().
inline std::string small_m_host_source(std::string text, DType dtype) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) fail("the text has no {}", from);
    text.replace(at, from.size(), to);
  };
  replace(device::kSmallMGemmInstructions, kSmallMOnHost);
  replace(device::kSmallMGemmWidenBytes, kWidenOnHost);
  replace("extern __shared__ __align__(16) uint4 ring[];", "uint4* const ring = (uint4*)host_memory;");
  return fmt::format("#define WIDEN widen_{}\n{}", cuda_memory_type(dtype), text);
}

inline std::string small_m_undefined() {
  std::string text;
  for (const char* name : {"SM", "MMA_TYPE", "ROWS", "WEIGHTS", "PIECES", "PARTS", "COLUMNS", "ITEMS",
                           "PITCH", "DEPTH", "AHEAD", "BYTES", "WIDEN_BYTES", "WIDEN"})
    text += fmt::format("#undef {}\n", name);
  return text;
}

}  // namespace smelt::test
