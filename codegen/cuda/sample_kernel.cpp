#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/row_text.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kSampleThreads = 1024;
constexpr int64_t kHeldWords = 16384;  // in shared memory, of each block of a cluster

/// Blocks that are alone read their words again from the cache.
std::string held_text(int blocks) {
  return fmt::format(
      "constexpr unsigned kLowestKey = 0x007FFFFFu;  // of -infinity\n"
      "constexpr int kHeld = {};\n{}\n\n",
      blocks > 1 ? kHeldWords : 0,
      blocks > 1 ? "extern __shared__ float held[];" : "__shared__ float held[1];");
}

KernelCode sample_kernel(int blocks, RowKind rows) {
  std::string text(device::kRowsEntry);
  text += held_text(blocks);
  for (const std::string_view part :
       {device::kSamplingWeights, device::kSamplingRow, device::kSamplingBins, device::kSamplingList,
        device::kSamplingSearch, device::kSamplingBest, device::kSamplingKernel})
    text += part;
  KernelCode kernel = kernel_of_rows(blocks > 1 ? "smelt_sample_long" : "smelt_sample", "sample", text,
                                     kSampleThreads, blocks, rows);
  if (blocks > 1) kernel.shared_bytes = kHeldWords * 4;
  TemplateLaunch& launch = *kernel.launch;
  launch.shared_bytes = ceil_div(field("count"), blocks) * 4;
  for (const char* name : {"scores", "numbers"})
    launch.arguments.push_back(address(name, DType::f32, PlaceUse::read));
  launch.arguments.push_back(address("integers", DType::i32, PlaceUse::read));
  launch.arguments.push_back(address("tokens", DType::i32, PlaceUse::write));
  launch.arguments.push_back(address("log_probabilities", DType::f32, PlaceUse::write));
  for (const char* name : {"count", "row_stride", "numbers_stride", "integers_stride"})
    launch.arguments.push_back(integer(field(name)));
  return kernel;
}

}  // namespace

std::vector<KernelCode> sample_kernels(int compute_capability) {
  const bool clusters = compute_capability >= kClusterCapability;
  if (!clusters) return {sample_kernel(1, RowKind::any)};
  return {sample_kernel(1, RowKind::short_ones), sample_kernel(kBlocksOfRow, RowKind::long_ones)};
}

StepKernels step_kernels(const SampleStep&, const Symbols&, int compute_capability) {
  return {sample_kernels(compute_capability)};
}

}  // namespace smelt
