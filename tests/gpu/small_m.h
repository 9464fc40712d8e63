// Launches of small-M GEMM kernels (matmuls with few rows) on this machine's GPU, without a plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/small_m/emit_small_m.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/template_launch.h"
#include "tests/gpu/small_model.h"

namespace smelt::small_m_test {

/// Operands of y[m,n] = x[m,k] W[n,k]^T. All matrices are dense and row-major.
struct Operands {
  cuda::DevicePointer x = 0, weights = 0, y = 0;
  int64_t m = 1, n = 1, k = 8;
};

/// A small-M GEMM kernel that is compiled and loaded for this machine's GPU. launch() returns nothing if the
/// kernel does not support the sizes. `dependent`: programmatic dependent launch, if the GPU supports it.
class LoadedSmallM {
 public:
  explicit LoadedSmallM(const SmallM& few) : code_(small_m_kernel(few)) {
    code_.binary = compile_cuda({code_.source, code_.name}, this_gpu()).bytes;
    cuda::Module module = nullptr;
    cuda::check(cuda::driver().ModuleLoadData(&module, code_.binary.data()), "loading a kernel");
    module_ = cuda::ModuleOwner(module);
    cuda::check(cuda::driver().ModuleGetFunction(&function_, module, code_.name.c_str()), "finding a kernel");
    constexpr int kMaxDynamicShared = 8;
    cuda::check(
        cuda::driver().FuncSetAttribute(function_, kMaxDynamicShared, static_cast<int>(code_.shared_bytes)),
        "giving shared memory");
  }

  std::optional<cuda::KernelLaunch> launch(const Operands& on, bool dependent) const {
    auto made = cuda::launch_of(code_, function_,
                                {.addresses = {{"a", on.x}, {"b", on.weights}, {"c", on.y}},
                                 .integers = {{"m", on.m},
                                              {"n", on.n},
                                              {"k", on.k},
                                              {"a_row_stride", on.k},
                                              {"b_column_stride", on.k},
                                              {"c_row_stride", on.n}},
                                 .reals = {{"alpha", 1.0}}});
    if (made) made->dependent = dependent && this_gpu() >= 90;
    return made;
  }

 private:
  KernelCode code_;
  cuda::ModuleOwner module_;
  cuda::Function function_ = nullptr;
};

}  // namespace smelt::small_m_test
