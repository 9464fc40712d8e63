// Tests of attention kernels without a GPU: the text of a kernel is compiled for the host, and functions for
// a CPU replace its PTX instructions. A warp's lanes are fibers (tests/support/cuda_on_host/device.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/cuda/device_text.h"
#include "runtime/cpu/shared_object.h"
#include "tests/codegen/cuda/attention/attention_bodies.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {

/// Text before all kernels.
inline constexpr const char* kHostDevice = R"(
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __ldg(p) (*(p))
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
extern "C" float log2f(float) noexcept;
inline float __expf(float x) { return expf(x); }
inline int __any_sync(unsigned mask, bool x) {
  unsigned any = x;
  for (int d = 1; d < 32; d *= 2) any |= __shfl_xor_sync(mask, any, d);
  return any;
}
alignas(128) static unsigned char host_memory[256 << 10];
static unsigned host_lanes[32][32][6];  // of warps: what lanes show each other

struct Pointer {
  void* to;
  template <typename T> operator T*() const { return (T*)to; }
};
struct HostCall {
  void* const* pointers;
  const long long* sizes;
  float scale;
  const unsigned long long* body;
};
)";

/// Text that replaces device::kAttentionMmaInstructions.
inline constexpr const char* kHostInstructions = R"(
inline float exp2_of(float x) { return exp2f(x); }
inline float log2_of(float x) { return log2f(x); }
inline float to_float(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
inline unsigned to_half(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline unsigned pack(float low, float high) { return to_half(low) | to_half(high) << 16; }
inline float low_of(unsigned bits) { return to_float(bits); }
inline int fresh(int x) { return x; }
inline unsigned shared_address(const void* p) { return (unsigned)((unsigned char*)p - host_memory); }
inline void copy_piece(unsigned to, const Half* from, bool is_there) {
  for (int i = 0; i < kVector; ++i) ((Half*)(host_memory + to))[i] = is_there ? from[i] : 0;
}
inline void copy_number(unsigned to, const float* from, bool is_there) { *(float*)(host_memory + to) = is_there ? *from : 0; }
inline void commit_copies() {}
inline void wait_for_copies() {}
inline void store_word(unsigned to, unsigned word) { *(unsigned*)(host_memory + to) = word; }
inline void store_piece(Half* to, unsigned from) { memcpy(to, host_memory + from, 2 * kVector); }

inline unsigned (&own_lanes())[32][6] { return host_lanes[threadIdx.x / 32]; }
inline Half element(unsigned address, int i) { return ((const Half*)(host_memory + address))[i]; }
inline void load_matrices(unsigned (&to)[4], unsigned address, bool transposed) {
  auto& lanes = own_lanes();
  const int lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
  lanes[lane][0] = address;
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int r, int c) { return transposed ? element(lanes[8 * i + c][0], r) : element(lanes[8 * i + r][0], c); };
    to[i] = at(row, column) | (unsigned)at(row, column + 1) << 16;
  }
  __syncwarp(~0u);
}
inline void load_fragment(unsigned (&to)[4], unsigned address) { load_matrices(to, address, false); }
inline void load_transposed(unsigned (&to)[4], unsigned address) { load_matrices(to, address, true); }
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
  host::multiply(d, own_lanes(), {a[0], a[1], a[2], a[3], b0, b1}, [](unsigned bits) { return to_float((unsigned short)bits); });
}
)";

/// Returns C++ text: the kernel, in its own namespace, and the function `name`, which runs one block of the
/// kernel.
inline std::string host_text(const MmaAttention& attention, const BodyText& body, const std::string& name) {
  std::string text = kernel_text(attention, body, "device_" + name);
  const auto replace = [&](std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) fail("the text has no {}", from);
    text.replace(at, from.size(), to);
  };
  replace(device::kAttentionMmaInstructions, kHostInstructions);
  replace("extern __shared__ __align__(128) unsigned char memory[];",
          "unsigned char* const memory = host_memory;");
  static constexpr int kPointers[] = {6, 8, 7, 7}, kMatrices[] = {5, 6, 5, 4};
  const int part = static_cast<int>(attention.part), gradients = part == 1   ? body.column
                                                                 : part == 2 ? body.row
                                                                             : 0;
  std::string call;
  for (int i = 0; i < kPointers[part] + gradients; ++i)
    call += fmt::format("Pointer{{a->pointers[{}]}}, ", i);
  for (int i = 0; i < 5 + 3 * kMatrices[part]; ++i) call += fmt::format("a->sizes[{}], ", i);
  call += "a->scale";
  for (size_t i = 0; i < body.types.size(); ++i) call += fmt::format(", ({})a->body[{}]", body.types[i], i);
  return fmt::format(
      "namespace space_{0} {{\n{1}}}\nextern \"C\" __attribute__((visibility(\"default\"))) void {0}(const "
      "HostCall* a, "
      "unsigned block, unsigned blocks) {{\n  using namespace space_{0};\n  const auto kernel = [&] {{ "
      "device_{0}({2}); }};\n"
      "  host::run_block({3}, {{block}}, {{blocks}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n}}\n"
      "#undef SM\n#undef MMA_TYPE\n#undef ROW_GRADIENTS\n#undef COLUMN_GRADIENTS\n#undef "
      "BODY_VALUES\n"
      "#undef GRADIENT_PARAMETERS\n#undef GRADIENT_VALUES\n",
      name, text, call, 32 * attention.tiles.warps);
}

}  // namespace smelt::test
