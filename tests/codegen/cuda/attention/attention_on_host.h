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
inline float __expf(float x) { return expf(x); }

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

/// Returns C++ text: the kernel, in its own namespace, and the function `name`, which runs one block of the
/// kernel.
inline std::string host_text(const MmaAttention& attention, const BodyText& body, const std::string& name) {
  const std::string text = mma_attention_host_source(kernel_text(attention, body, "device_" + name));
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
