#include "codegen/cuda/emit_cuda.h"

#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/byte_gemm/emit_byte_gemm.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/cuda_language.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/gpu/lower/lower_launch.h"
#include "codegen/printers/kernel_source.h"

namespace smelt {
namespace {

std::string gemm_source(const Kernel& kernel) {
  if (kernel.gemm->is_small_m()) return emit_small_m(kernel);
  if (kernel.gemm->mma) return emit_mma_gemm(kernel);
  return kernel.gemm->is_byte_gemm() ? emit_byte_gemm(kernel) : emit_gemm(kernel);
}

std::string source_of_kind(const Kernel& kernel) {
  if (kernel.attention) return emit_attention(kernel);
  if (kernel.gemm) return gemm_source(kernel);
  return kernel_source(kCuda, all_cuda_pieces(), kernel, gpu::lower_launch(kernel));
}

}  // namespace

std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources) {
  return kernel_comment(kernel, sources) + source_of_kind(kernel);
}

}  // namespace smelt
