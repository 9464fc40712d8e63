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
/// A copy to shared memory happens as late as it may: when its thread waits for it. The tensor cores add up
/// the products of 16 elements exactly, whatever their order, and round once.
inline constexpr const char* kSmallMOnHost = R"(
struct HostCopies {
  struct { unsigned to; const void* from; } copies[32][32];
  int counts[32], begun, done;  // groups of copies: `begun` have begun, and `done` of them are done
};
static thread_local HostCopies host_copies[256];  // of the threads of a block
inline unsigned shared_address(const void* p) { return (unsigned)((const unsigned char*)p - host_memory); }
inline void load_four(unsigned* to, const Half* from, bool is_there) {
  for (int i = 0; i < 4; ++i) to[i] = 0;
  if (is_there) memcpy(to, from, 16);
}
inline void load_four_staged(unsigned* to, const Half* from, bool is_there) { load_four(to, from, is_there); }
inline void load_shared_two(unsigned* to, unsigned from) { memcpy(to, host_memory + from, 8); }
inline unsigned load_shared_word(unsigned from) { return *(const unsigned*)(host_memory + from); }
inline void load_weights(unsigned to, const void* from, bool is_there) {
  HostCopies& own = host_copies[threadIdx.x];
  own.copies[own.begun % 32][own.counts[own.begun % 32]++] = {to, is_there ? from : nullptr};
}
inline void load_word(unsigned to, const void* from, bool is_there) {
  HostCopies& own = host_copies[threadIdx.x];
  own.copies[own.begun % 32][own.counts[own.begun % 32]++] = {
      to | 1, is_there ? (const void*)((unsigned long long)from & ~3ull) : nullptr};
}
inline void end_piece() {
  HostCopies& own = host_copies[threadIdx.x];
  own.counts[++own.begun % 32] = 0;
}
template <int left> void wait_for_pieces() {
  HostCopies& own = host_copies[threadIdx.x];
  for (; own.begun - own.done > left; ++own.done)
    for (int i = 0; i < own.counts[own.done % 32]; ++i) {
      const auto& copy = own.copies[own.done % 32][i];
      const unsigned to = copy.to & ~1u, bytes = copy.to & 1 ? 4 : 16;  // an odd address is that of a word
      __builtin_memset(host_memory + to, 0, bytes);
      if (copy.from) memcpy(host_memory + to, copy.from, bytes);
    }
}
struct HostBarrier { short count, left; unsigned passed; };
inline HostBarrier& host_barrier_at(unsigned at) { return *(HostBarrier*)(host_memory + at); }
inline void begin_barrier(unsigned at, int count) { host_barrier_at(at) = {(short)count, (short)count, 0}; }
inline void arrive_at(unsigned at) {
  HostBarrier& barrier = host_barrier_at(at);
  ++host_machine.progress;
  if (--barrier.left == 0) barrier.left = barrier.count, ++barrier.passed;
}
inline void arrive_when_copied(unsigned at) { end_piece(), wait_for_pieces<0>(), arrive_at(at); }
inline bool is_past(unsigned at, unsigned parity) { return host_barrier_at(at).passed % 2 != parity; }
inline void wait_at(unsigned at, unsigned parity) {
  while (!is_past(at, parity)) host::yield();
  __syncwarp(~0u);
}
inline double widen_word(unsigned word, int upper) { return WIDEN(word >> 16 * upper & 0xffff); }
inline void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  auto& lanes = host_lanes[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const unsigned own[6] = {a0, a1, a2, a3, b0, b1};
  memcpy(lanes[lane], own, sizeof own);
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int k = 0; k < 16; ++k)
      sum += widen_word(lanes[lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2], k % 2) *
             widen_word(lanes[4 * (2 * (lane % 4) + i % 2) + k % 8 / 2][4 + k / 8], k % 2);
    d[i] = (float)(d[i] + sum);
  }
  __syncwarp(~0u);
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

/// Text that replaces device::kSmallMGemmPairs.
inline constexpr const char* kPairsOnHost = R"(
inline unsigned half_of(float x) {
  const _Float16 rounded = (_Float16)x;
  unsigned short bits;
  memcpy(&bits, &rounded, 2);
  return bits;
}
inline unsigned mask_or(unsigned x, unsigned mask, unsigned bits) { return (x & mask) | bits; }
inline unsigned short round_bf16(double x) {
  const unsigned bits = __float_as_uint((float)x);  // products of 8 bits by 8 bits, and sums of these, are exact
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
inline unsigned fma_two_bf16(unsigned a, unsigned b, unsigned c) {
  unsigned d = 0;
  for (int i = 0; i < 32; i += 16)
    d |= (unsigned)round_bf16((double)widen_bf16(a >> i & 0xFFFF) * widen_bf16(b >> i & 0xFFFF) + widen_bf16(c >> i & 0xFFFF)) << i;
  return d;
}
inline unsigned fma_two_f16(unsigned a, unsigned b, unsigned c) {
  unsigned d = 0;
  for (int i = 0; i < 32; i += 16)
    d |= half_of((float)((double)widen_f16(a >> i & 0xFFFF) * widen_f16(b >> i & 0xFFFF) + widen_f16(c >> i & 0xFFFF))) << i;
  return d;
}
inline unsigned pick_bytes(unsigned x, unsigned y, unsigned bytes) {
  const unsigned long long both = x | (unsigned long long)y << 32;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i) picked |= (unsigned)(both >> 8 * (bytes >> 4 * i & 7) & 255) << 8 * i;
  return picked;
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
  for (const auto& [from, to] : {std::pair(device::kSmallMGemmWidenBytes, kWidenOnHost),
                                 std::pair(device::kSmallMGemmPairs, kPairsOnHost)})
    if (text.find(from) != std::string::npos) replace(from, to);
  replace("extern __shared__ __align__(16) uint4 ring[];", "uint4* const ring = (uint4*)host_memory;");
  return fmt::format("#define WIDEN widen_{}\n{}", cuda_memory_type(dtype), text);
}

inline std::string small_m_undefined() {
  std::string text;
  for (const char* name :
       {"SM",    "MMA_TYPE",    "ROWS",  "WEIGHTS", "PIECES",      "PARTS",    "COLUMNS",   "ITEMS",
        "PITCH", "DEPTH",       "AHEAD", "BYTES",   "WIDEN_BYTES", "WARPS",    "SLOT",      "STAGED",
        "WIDEN", "WEIGHT_BITS", "GROUP", "ZEROS",   "WIDEN_WORD",  "LESS_TWO", "SCALE_TWO", "SCALE_LANES"})
    text += fmt::format("#undef {}\n", name);
  return text;
}

}  // namespace smelt::test
