// Kernels of matmuls of few rows without a GPU: their text, with the PTX instructions played by the lanes of
// a warp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/few_rows/few_rows_kernel.h"
#include "codegen/cuda/prelude.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {

/// In front of all kernels.
inline constexpr const char* kFewRowsDevice = R"(
#undef __launch_bounds__
#define __launch_bounds__(...)
struct uint4 { unsigned x, y, z, w; };
alignas(16) static unsigned char host_memory[128 << 10];
static unsigned host_lanes[32][32][6];  // of warps: what lanes show each other

inline float widen_bf16(unsigned bits) { return __uint_as_float(bits << 16); }
inline float widen_f16(unsigned bits) {
  const unsigned short half = (unsigned short)bits;
  _Float16 x;
  memcpy(&x, &half, 2);
  return (float)x;
}
)";

/// In place of kFewRowsInstructions; WIDEN is one of the functions above.
inline constexpr const char* kFewRowsOnHost = R"(
inline void load_row(unsigned (&to)[4], const Half* from, bool is_there) {
  for (unsigned& word : to) word = 0;
  if (is_there) memcpy(to, from, 16);
}
inline void load_weights(void* to, const Half* from, bool is_there) {
  unsigned words[4];
  load_row(words, from, is_there);
  memcpy(to, words, 16);
}
inline void end_piece() {}
template <int left> void wait_for_pieces() {}
inline void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  auto& lanes = host_lanes[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const unsigned own[6] = {a0, a1, a2, a3, b0, b1};
  memcpy(lanes[lane], own, sizeof own);
  __syncwarp(~0u);
  const auto half_of = [&](int l, int word, int k) { return WIDEN(lanes[l][word] >> 16 * (k % 2) & 0xffff); };
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4, column = 2 * (lane % 4) + i % 2;
    for (int k = 0; k < 16; ++k)
      d[i] += half_of(4 * row + k % 8 / 2, i / 2 + k / 8 * 2, k) * half_of(4 * column + k % 8 / 2, 4 + k / 8, k);
  }
  __syncwarp(~0u);
}
)";

/// A kernel of its own namespace, and the function of its name that runs a block of it.
inline std::string few_rows_host_text(const FewRows& few, const KernelCode& kernel) {
  std::string text = kernel.source;
  const auto replace = [&](std::string_view from, const std::string& to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) fail("the text has no {}", from);
    text.replace(at, from.size(), to);
  };
  replace(kFewRowsInstructions, kFewRowsOnHost);
  replace("extern __shared__ __align__(16) uint4 ring[];", "uint4* const ring = (uint4*)host_memory;");
  replace("#define KERNEL " + kernel.name, "#define KERNEL device_" + kernel.name);
  std::string call;
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const TemplateLaunch::Argument& argument = kernel.launch->arguments[i];
    const std::string cast = argument.kind == TemplateLaunch::Argument::Kind::integer ? "(long long)a[{}]"
                             : argument.kind == TemplateLaunch::Argument::Kind::real
                                 ? "__uint_as_float((unsigned)a[{}])"
                             : argument.value.str() == "a" || argument.value.str() == "b" ? "(Half*)a[{}]"
                                                                                          : "(Result*)a[{}]";
    call += (i > 0 ? ", " : "") + fmt::format(fmt::runtime(cast), i);
  }
  std::string undefine;
  for (const char* name : {"SM", "KERNEL", "MMA_TYPE", "ROWS", "WEIGHTS", "PARTS", "PITCH", "DEPTH",
                           "BIAS_PARAMETER", "BIAS", "WIDEN"})
    undefine += fmt::format("#undef {}\n", name);
  return fmt::format(
      "#define WIDEN widen_{4}\nnamespace space_{0} {{\n{1}}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(unsigned block, unsigned blocks, const "
      "uint64_t* a) {{\n"
      "  using namespace space_{0};\n  const auto kernel = [&] {{ device_{0}({2}); }};\n"
      "  host::run_block({3}, {{block}}, {{blocks}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n"
      "}}\n{5}",
      kernel.name, text, call, kernel.threads, cuda_memory_type(few.dtype), undefine);
}

class FewRowsOnHost {
 public:
  explicit FewRowsOnHost(const std::vector<FewRows>& all) {
    std::string text = kFewRowsDevice;
    for (const FewRows& few : all) {
      kernels_.push_back(few_rows_kernel(few));
      text += few_rows_host_text(few, kernels_.back());
    }
    object_.emplace(compile_text_on_host(text));
  }

  /// Whether the kernel of that number takes the sizes.
  bool run(size_t number, const cuda::LaunchValues& values) const {
    const KernelCode& kernel = kernels_.at(number);
    const auto launch = cuda::launch_of(kernel, nullptr, values);
    if (!launch) return false;
    const auto block =
        reinterpret_cast<void (*)(unsigned, unsigned, const uint64_t*)>(object_->symbol(kernel.name));
    for (unsigned i = launch->blocks; i-- > 0;) block(i, launch->blocks, launch->values.data());
    return true;
  }

 private:
  std::vector<KernelCode> kernels_;
  std::optional<SharedObject> object_;
};

}  // namespace smelt::test
