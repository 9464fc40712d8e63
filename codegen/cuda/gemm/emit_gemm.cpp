#include "codegen/cuda/gemm/emit_gemm.h"

#include <fmt/format.h>

#include "codegen/cuda/gemm/gemm_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_function.h"

namespace smelt {
namespace {

constexpr int64_t kBox = 64;  // rows and columns of what is copied at a time
constexpr int kSwizzleBytes = 128;

WgmmaGemm gemm_of(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  return {.dtype = kernel.params[static_cast<size_t>(gemm.a.param)].dtype,
          .tiles = gemm.tiles,
          .a_transposed = gemm.a.transposed,
          .b_transposed = gemm.b.transposed,
          .sums = static_cast<int>(gemm_sums(kernel).size())};
}

/// The kernel that the host launches.
std::string entry(const Kernel& kernel) {
  const gpu::KernelNames names(kernel);
  std::string parameters;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    parameters += fmt::format("{}{}* {}, ", kernel.params[i].output ? "" : "const ",
                              cuda_memory_type(kernel.params[i].dtype), names.params()[i]);
  parameters += "const unsigned* random";
  for (const std::string& dim : names.dims()) parameters += fmt::format(", long long {}_", dim);
  for (int i = 0; i < kernel.random_slots; ++i) parameters += fmt::format(", unsigned id{}", i);
  const auto size = [&](const Dim& dim) { return number_of(names, dim); };
  const GemmKernel& gemm = *kernel.gemm;
  return fmt::format(
      "extern \"C\" __global__ void {}__launch_bounds__(kThreads, 1) {}(const __grid_constant__ TensorMap "
      "map0, const "
      "__grid_constant__ TensorMap map1, {}, long long range_) {{\n"
      "  const BodyArguments body = {{{}}};\n  gemm(map0, map1, {}, {}, {}, body);\n}}\n",
      gemm.tiles.cluster > 1 ? fmt::format("__attribute__((cluster_dims({}, 1, 1))) ", gemm.tiles.cluster)
                             : "",
      kernel.name, parameters, body_argument_list(kernel, names), size(gemm.m), size(gemm.n), size(gemm.k));
}

TensorMap map_of(const GemmKernel::Operand& operand, const Dim& rows, const Dim& k) {
  TensorMap map{.parameter = operand.param, .extents = {k, rows}, .strides = {operand.pitch}};
  if (operand.transposed) map.extents = {rows, k};
  map.box = {kBox, kBox}, map.swizzle_bytes = kSwizzleBytes;
  return map;
}

}  // namespace

std::string emit_gemm(const Kernel& kernel) {
  const std::string text =
      gemm_prelude(gemm_of(kernel)) + print_gemm_epilogue(kernel) + gemm_kernel_text() + entry(kernel);
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  need_calls(needs, text);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n{}\n{}",
                     kernel.schedule.index32 ? "int" : "long long", cuda_prelude(needs), text);
}

std::vector<TensorMap> gemm_maps(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  return {map_of(gemm.a, gemm.m, gemm.k), map_of(gemm.b, gemm.n, gemm.k)};
}

}  // namespace smelt
