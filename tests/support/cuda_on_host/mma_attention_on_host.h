// Attention kernels that use mma instructions (codegen/cuda/device/attention/mma/) without a GPU: text that
// replaces their PTX instructions by functions for a CPU.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/device_text.h"
#include "runtime/base/error.h"
#include "tests/support/cuda_on_host/decode_on_host.h"

namespace smelt::test {

/// Text that, after kDecodeOnHost, replaces device::kAttentionMmaInstructions. Addresses in shared memory are
/// offsets from host_memory().
inline constexpr const char* kMmaAttentionOnHost = R"(
extern "C" float log2f(float) noexcept;
inline unsigned char* host_memory() {
  alignas(128) static __thread unsigned char memory[256 << 10];
  return memory;
}
inline float exp2_of(float x) { return exp2f(x); }
inline float log2_of(float x) { return log2f(x); }
inline int fresh(int x) { return x; }
inline int __any_sync(unsigned mask, bool x) { return __ballot_sync(mask, x) != 0; }
inline unsigned shared_address(const void* p) { return (unsigned)((unsigned char*)p - host_memory()); }
inline void copy_piece(unsigned to, const Half* from, bool is_there) {
  for (int i = 0; i < kVector; ++i) ((Half*)(host_memory() + to))[i] = is_there ? from[i] : 0;
}
inline void copy_number(unsigned to, const float* from, bool is_there) {
  *(float*)(host_memory() + to) = is_there ? *from : 0;
}
inline void commit_copies() {}
inline void wait_for_copies() {}
inline void store_word(unsigned to, unsigned word) { *(unsigned*)(host_memory() + to) = word; }
inline void store_piece(Half* to, unsigned from) { memcpy(to, host_memory() + from, 2 * kVector); }
inline void load_matrices(unsigned (&to)[4], unsigned address, bool transposed) {
  auto& lanes = own_lanes();
  const unsigned char* const memory = host_memory();
  const int lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
  lanes[lane][0] = address;
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int r, int c) {
      const int of = transposed ? c : r, place = transposed ? r : c;
      return ((const Half*)(memory + lanes[8 * i + of][0]))[place];
    };
    to[i] = at(row, column) | (unsigned)at(row, column + 1) << 16;
  }
  __syncwarp(~0u);
}
inline void load_fragment(unsigned (&to)[4], unsigned address) { load_matrices(to, address, false); }
inline void load_transposed(unsigned (&to)[4], unsigned address) { load_matrices(to, address, true); }
)";

/// Returns the text of such a kernel in a form that the host's compiler accepts.
inline std::string mma_attention_host_source(std::string text) {
  const auto replace = [&](std::string_view from, const std::string& to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) fail("the text has no {}", from);
    text.replace(at, from.size(), to);
  };
  replace(device::kAttentionMmaInstructions, std::string(kDecodeOnHost) + kMmaAttentionOnHost);
  replace("extern __shared__ __align__(128) unsigned char memory[];",
          "unsigned char* const memory = host_memory();");
  return text;
}

}  // namespace smelt::test
