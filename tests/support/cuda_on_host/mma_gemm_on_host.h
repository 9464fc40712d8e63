// The matmul template for sm_80 and later (codegen/cuda/gemm/mma_gemm_text.h) without a GPU: text that
// replaces its PTX instructions by functions for a CPU. A copy to shared memory happens as late as it may:
// when its thread waits for it.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/device_text.h"
#include "runtime/base/error.h"

namespace smelt::test {

/// Text that replaces device::kSharedMemory.
inline constexpr const char* kSharedMemoryOnHost = R"(
inline unsigned shared_address(const void* p) { return (unsigned)((unsigned char*)p - host_memory); }
inline int load_shared(unsigned from) { return *(int*)(host_memory + from); }
inline void store_four(unsigned to, float x, float y, float z, float w) {
  const float all[4] = {x, y, z, w};
  memcpy(host_memory + to, all, sizeof all);
}
)";

/// Text that replaces the functions of device::kHalves that have PTX instructions.
inline constexpr const char* kHalvesOnHost = R"(
constexpr bool kIsBf16 = HALF_TYPE[0] == 'b';
inline float low_of(unsigned word) { return kIsBf16 ? widen_bf16(word & 0xffff) : widen_f16(word & 0xffff); }
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
)";

/// Text that replaces device::kMmaGemmInstructions.
inline constexpr const char* kMmaGemmOnHost = R"(
struct HostCopies {
  struct { unsigned to; const Half* from; int bytes; } copies[8][64];
  int counts[8], begun, done;  // groups of copies: `begun` have begun, and `done` of them are done
};
static thread_local HostCopies host_copies[256];  // of the threads of a block
inline unsigned fresh(unsigned x) { return x; }
inline void copy_async(unsigned to, const Half* from, int bytes) {
  HostCopies& own = host_copies[threadIdx.x];
  own.copies[own.begun % 8][own.counts[own.begun % 8]++] = {to, from, bytes};
}
inline void commit_copies() {
  HostCopies& own = host_copies[threadIdx.x];
  own.counts[++own.begun % 8] = 0;
}
template <int left>
inline void wait_for_copies() {
  HostCopies& own = host_copies[threadIdx.x];
  for (; own.begun - own.done > left; ++own.done)
    for (int i = 0; i < own.counts[own.done % 8]; ++i) {
      const auto& copy = own.copies[own.done % 8][i];
      const uint64_t zeros[2] = {};
      memcpy(host_memory + copy.to, zeros, 16);
      if (copy.bytes > 0) memcpy(host_memory + copy.to, copy.from, copy.bytes);
    }
}
inline unsigned (&own_lanes())[32][6] { return host_lanes[threadIdx.x / 32]; }
inline Half shared_half(unsigned address, int i) { return ((const Half*)(host_memory + address))[i]; }
inline void load_matrices(unsigned (&to)[4], unsigned address, bool transposed) {
  auto& lanes = own_lanes();
  const int lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
  lanes[lane][0] = address;
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int r, int c) {
      return transposed ? shared_half(lanes[8 * i + c][0], r) : shared_half(lanes[8 * i + r][0], c);
    };
    to[i] = at(row, column) | (unsigned)at(row, column + 1) << 16;
  }
  __syncwarp(~0u);
}
inline void load_fragments(unsigned (&to)[4], unsigned address) { load_matrices(to, address, false); }
inline void load_transposed(unsigned (&to)[4], unsigned address) { load_matrices(to, address, true); }
template <int n>
inline void multiply(float (&sums)[n], int at, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  float d[4];
  memcpy(d, sums + at, sizeof d);
  host::multiply(d, own_lanes(), {a[0], a[1], a[2], a[3], b0, b1}, low_of);
  memcpy(sums + at, d, sizeof d);
}
template <int n>
inline void multiply(int (&sums)[n], int at, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  auto& lanes = own_lanes();
  const int lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
  const unsigned own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  memcpy(lanes[lane], own, sizeof own);
  __syncwarp(~0u);
  const auto byte_of = [&](int owner, int word, int byte) { return (int)(signed char)(lanes[owner][word] >> 8 * byte); };
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 32; ++k) {
      const int r = row + i / 2 * 8, quad = k % 16 / 4;
      sums[at + i] += byte_of(r % 8 * 4 + quad, r / 8 + k / 16 * 2, k % 4) *
                      byte_of((column + i % 2) * 4 + quad, 4 + k / 16, k % 4);
    }
  __syncwarp(~0u);
}
)";

/// Returns the text of a kernel in a form that the host's compiler accepts. kTensorCoreDevice comes before
/// it, and kMmaGemmUndefined after it.
inline std::string mma_gemm_host_source(std::string text) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) fail("the text has no {}", from);
    text.replace(at, from.size(), to);
  };
  const std::string_view halves = device::kHalves, lanes = halves.substr(halves.find("// ---- lanes")),
                         words = halves.substr(halves.find("// Returns a word of two"));
  replace(words.substr(0, words.size() - lanes.size()), kHalvesOnHost);
  replace(device::kSharedMemory, kSharedMemoryOnHost);
  replace(device::kMmaGemmInstructions, kMmaGemmOnHost);
  replace("extern __shared__ __align__(128) unsigned char memory[];",
          "unsigned char* const memory = host_memory;");
  return text;
}

inline constexpr const char* kMmaGemmUndefined = "#undef SM\n#undef HALF_TYPE\n";

}  // namespace smelt::test
