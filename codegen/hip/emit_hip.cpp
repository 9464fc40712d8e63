#include "codegen/hip/emit_hip.h"

#include "codegen/gpu/lower/lower_launch.h"
#include "codegen/hip/group_barriers.h"
#include "codegen/hip/hip_language.h"
#include "codegen/hip/hip_pieces.h"
#include "codegen/hip/missing_functions.h"
#include "codegen/printers/kernel_source.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

std::string why_no_attention(const AttentionKernel& attention) {
  if (attention.wgmma() != nullptr) return "it is the attention template with wgmma and TMA";
  return attention.few() != nullptr ? "it is the decode attention template with PTX"
                                    : "it is an attention template with mma.sync";
}

std::string why_no_template(const Kernel& kernel) {
  if (kernel.attention) return why_no_attention(*kernel.attention);
  if (kernel.gemm->is_wgmma()) return "it is a matmul template with wgmma and TMA";
  return kernel.gemm->mma ? "it is the matmul template with mma.sync"
                          : "it is the small-M matmul template with mma.sync";
}

std::string why_no_code(const gpu::Launch& launch) {
  const std::string missing = missing_function(launch, hip_pieces());
  if (!missing.empty()) return "it calls " + missing + ", which has no HIP text";
  return why_no_group_barriers(launch);
}

}  // namespace

std::string why_no_hip(const Kernel& kernel) {
  if (kernel.has_template()) return why_no_template(kernel);
  if (kernel.waits) return "it waits for previous launches (griddepcontrol)";
  return why_no_code(gpu::lower_launch(kernel));
}

std::string emit_hip(const Kernel& kernel, const std::vector<std::string>& sources) {
  if (const std::string reason = why_no_hip(kernel); !reason.empty())
    fail_with(Status::unavailable, "kernel '{}' has no HIP text: {}", kernel.name, reason);
  return kernel_comment(kernel, sources) +
         kernel_source(kHip, hip_pieces(), kernel, with_group_barriers(gpu::lower_launch(kernel)));
}

}  // namespace smelt
