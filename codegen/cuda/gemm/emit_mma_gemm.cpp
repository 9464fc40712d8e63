#include <fmt/format.h>

#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/gemm/mma_gemm_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_function.h"
#include "codegen/gpu/lower/lower_function.h"

namespace smelt {
namespace {

MmaGemm mma_gemm_of(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  return {.dtype = kernel.params[static_cast<size_t>(gemm.a.param)].dtype,
          .tiles = *gemm.mma,
          .a_transposed = gemm.a.transposed,
          .b_transposed = gemm.b.transposed,
          .rounded = gemm.rounded,
          .batched = !gemm.batch.empty(),
          .sums = static_cast<int>(gemm_sums(kernel).size())};
}

/// Returns a length of operands in the units of the template: elements, or pairs of bytes.
std::string units_of(const Kernel& kernel, const gpu::KernelNames& names, const Dim& length) {
  const std::string elements = number_of(names, length);
  return mma_gemm_of(kernel).has_bytes() ? fmt::format("({} / 2)", elements) : elements;
}

/// Returns the arguments `move` and `part_of` of gemm (mma_gemm_text.h).
std::string functions_of(const Kernel& kernel, const gpu::KernelNames& names) {
  const GemmKernel& gemm = *kernel.gemm;
  std::vector<ProductAxis> axes;
  for (const GemmKernel::Batch& axis : gemm.batch)
    axes.push_back({number_of(names, axis.extent),
                    {{"to.a", units_of(kernel, names, axis.a_stride)},
                     {"to.b", units_of(kernel, names, axis.b_stride)}}});
  const std::string rows = "(int)" + number_of(names, gemm.m);
  return fmt::format(
      "[&](int product, Operands& to) {{ {0}}},\n"
      "       [&](int product) {{ return Part{{body, product * {1}, product * {1} + {1}, (int){2}}}; }}",
      move_to_product(axes), rows, number_of(names, gemm.n));
}

/// Returns the function that the host launches.
std::string mma_entry_of(const Kernel& kernel) {
  const gpu::KernelNames names(kernel);
  const GemmKernel& gemm = *kernel.gemm;
  const auto size = [&](const Dim& dim) { return "(int)" + number_of(names, dim); };
  const auto units = [&](const Dim& length) { return "(int)" + units_of(kernel, names, length); };
  const auto address = [&](const GemmKernel::Operand& operand) {
    return "(const Half*)" + names.params()[static_cast<size_t>(operand.param)];
  };
  std::string products = "1";
  for (const GemmKernel::Batch& axis : gemm.batch) products += " * " + size(axis.extent);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(kThreads, {}) {}({}, {}) {{\n"
      "  const BodyArguments body = {{{}}};\n"
      "  gemm({{{}, {}, {}, {}}}, {}, {}, {}, {}, {:a}f,\n       {});\n}}\n",
      gemm.mma->blocks, kernel.name, print(gpu::pointer_parameters(kernel, names, "")),
      print(gpu::number_parameters(kernel, names)), body_argument_list(kernel, names), address(gemm.a),
      address(gemm.b), units(gemm.a.pitch), units(gemm.b.pitch), size(gemm.m), size(gemm.n), units(gemm.k),
      products, gemm.alpha, functions_of(kernel, names));
}

}  // namespace

std::string emit_mma_gemm(const Kernel& kernel) {
  const std::string text = mma_gemm_prelude(mma_gemm_of(kernel)) + print_gemm_epilogue(kernel) +
                           mma_gemm_function() + mma_entry_of(kernel);
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  need_calls(needs, text);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n{}\n{}",
                     kernel.schedule.index32 ? "int" : "long long", cuda_prelude(needs), text);
}

}  // namespace smelt
