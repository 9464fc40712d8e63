#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/row_text.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kSampleThreads = 1024;

/// Blocks that draw a token of a row together, and the words that each of them holds in shared memory.
struct Sharing {
  int blocks;
  int64_t held;
};
/// Few rows are shared by as many blocks as run at once; of many rows, fewer blocks wait less for each
/// other. Measured on an H200 with 128,256 words.
constexpr Sharing kAlone = {1, 0}, kOfFew = {kBlocksOfRow, 16384}, kOfMany = {2, 40960};
constexpr int64_t kManyDraws = 17;

/// Words that are not held are read again from the cache.
std::string held_text(const Sharing& sharing) {
  return fmt::format(
      "constexpr unsigned kLowestKey = 0x007FFFFFu;  // of -infinity\n"
      "constexpr int kHeld = {};\n{}\n\n",
      sharing.held, sharing.held > 0 ? "extern __shared__ float held[];" : "__shared__ float held[1];");
}

KernelCode sample_kernel(const char* name, const Sharing& sharing, RowKind rows) {
  std::string text(device::kRowsEntry);
  text += held_text(sharing);
  for (const std::string_view part :
       {device::kSamplingWeights, device::kSamplingRow, device::kSamplingBins, device::kSamplingList,
        device::kSamplingSearch, device::kSamplingBest, device::kSamplingKernel})
    text += part;
  KernelCode kernel = kernel_of_rows(name, "sample", text, kSampleThreads, sharing.blocks, rows);
  kernel.shared_bytes = sharing.held * 4;
  TemplateLaunch& launch = *kernel.launch;
  launch.shared_bytes = ceil_div(field("count"), sharing.blocks) * 4;
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
  if (!clusters) return {sample_kernel("smelt_sample", kAlone, RowKind::any)};
  KernelCode few = sample_kernel("smelt_sample_long", kOfFew, RowKind::long_ones),
             more = sample_kernel("smelt_sample_many_long", kOfMany, RowKind::long_ones);
  few.launch->conditions.push_back({.value = field("rows"), .below = kManyDraws});
  more.launch->conditions.push_back({.value = field("rows") * -1, .below = 1 - kManyDraws});
  return {sample_kernel("smelt_sample", kAlone, RowKind::short_ones), std::move(few), std::move(more)};
}

StepKernels step_kernels(const SampleStep&, const Symbols&, int compute_capability) {
  return {sample_kernels(compute_capability)};
}

}  // namespace smelt
