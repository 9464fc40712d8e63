#include "codegen/cuda/byte_gemm/emit_byte_gemm.h"

#include <fmt/format.h>

#include "codegen/cuda/byte_gemm/byte_gemm_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_function.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/gpu/lower/lower_function.h"

namespace smelt {
namespace {

constexpr int64_t kTermsOfBox = 64;
constexpr int kSwizzleOfFloats = 128, kSwizzleOfBytes = 64;

const KernelParam& param_of(const Kernel& kernel, const GemmKernel::Operand& operand) {
  return kernel.params[static_cast<size_t>(operand.param)];
}

std::string entry(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  const gpu::KernelNames names(kernel);
  const int64_t columns = gemm.n.constant().value() / gemm.few->parts;
  return fmt::format(
      "extern \"C\" __global__ void __attribute__((cluster_dims({}, 1, 1))) __launch_bounds__({}, 1) "
      "{}(const __grid_constant__ TensorMap map0, const __grid_constant__ TensorMap map1, {}, {}) {{\n"
      "  const BodyArguments body = {{{}}};\n  const int m = (int){}, n = {}, k = {};\n"
      "  const auto load = [&](int row, int column, BodyLoads& loads) {{ body_load(body, row, column, "
      "loads); }};\n"
      "  const auto put = [&](int row, int column, const float (&sums)[PARTS], const BodyLoads& loads) {{\n"
      "{}    body_run(body, row, column, loads, handed);\n  }};\n"
      "  byte_gemm(map0, map1, m, n, k, load, put);\n}}\n",
      gemm.few->together * gemm.few->splits, kByteGemmThreads, kernel.name,
      print(gpu::pointer_parameters(kernel, names, "")), print(gpu::number_parameters(kernel, names)),
      body_argument_list(kernel, names), number_of(names, gemm.m), columns, number_of(names, gemm.k),
      handed_sums(kernel, names));
}

TensorMap map_of(const GemmKernel::Operand& operand, const Dim& rows, const Dim& k, int64_t box,
                 int swizzle) {
  return {.parameter = operand.param,
          .extents = {k, rows},
          .strides = {operand.pitch},
          .box = {kTermsOfBox, box},
          .swizzle_bytes = swizzle};
}

}  // namespace

std::string emit_byte_gemm(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  const std::string text = byte_gemm_prelude(param_of(kernel, gemm.a).dtype, *gemm.few) +
                           print_element_body(kernel) + byte_gemm_function() + entry(kernel);
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  need_element(needs, gemm.few->result_dtype), need_calls(needs, text);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n{}\n{}",
                     kernel.schedule.index32 ? "int" : "long long", cuda_prelude(needs), text);
}

std::vector<TensorMap> byte_gemm_maps(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  const SmallMTiles& tiles = *gemm.few;
  return {map_of(gemm.a, gemm.m, gemm.k, tiles.rows / tiles.together, kSwizzleOfFloats),
          map_of(gemm.b, gemm.n, gemm.k, tiles.weights / tiles.parts, kSwizzleOfBytes)};
}

}  // namespace smelt
