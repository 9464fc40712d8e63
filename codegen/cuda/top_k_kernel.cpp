#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include <bit>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/row_text.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kTopThreads = 1024;
constexpr int64_t kMostFew = 32;  // up to this k, a pass over the maxima of groups finds nearly all

/// Returns the kernel with one block per row, or with a cluster per row.
KernelCode few_kernel(int64_t k, std::string_view kind, int blocks, RowKind rows) {
  const std::string text = fmt::format("constexpr int kK = {};\n{}{}{}", k, device::kRowsEntry,
                                       device::kTopKPut, device::kTopKFew);
  return kernel_of_rows(fmt::format("smelt_top_{}{}", kind, k), "top_k", text, kTopThreads, blocks, rows);
}

KernelCode select_kernel(int64_t k) {
  const uint64_t sorted = std::bit_ceil(static_cast<uint64_t>(k));
  const std::string text = fmt::format("constexpr int kK = {}, kSorted = {};\n{}{}{}", k, sorted,
                                       device::kRowsEntry, device::kTopKPut, device::kTopKSelect);
  return kernel_of_rows(fmt::format("smelt_top_{}", k), "top_k", text, kTopThreads, 1, RowKind::any);
}

std::vector<KernelCode> without_arguments(int64_t k, int compute_capability) {
  if (k > kMostFew) return {select_kernel(k)};
  if (compute_capability < kClusterCapability) return {few_kernel(k, "", 1, RowKind::any)};
  return {few_kernel(k, "", 1, RowKind::short_ones),
          few_kernel(k, "long_", kBlocksOfRow, RowKind::few_long_ones),
          few_kernel(k, "many_long_", 1, RowKind::many_long_ones)};
}

}  // namespace

std::vector<KernelCode> top_k_kernels(int64_t k, int compute_capability) {
  std::vector<KernelCode> kernels = without_arguments(k, compute_capability);
  for (KernelCode& kernel : kernels) {
    TemplateLaunch& launch = *kernel.launch;
    launch.arguments = {address("x", DType::f32, PlaceUse::read),
                        address("values", DType::f32, PlaceUse::write),
                        address("indices", DType::i32, PlaceUse::write), integer(field("count")),
                        integer(field("row_stride"))};
    launch.conditions.push_back({.value = field("k") - k, .below = 1});
    launch.conditions.push_back({.value = Dim(k) - field("k"), .below = 1});
  }
  return kernels;
}

StepKernels step_kernels(const TopKStep& step, const Symbols&, int compute_capability) {
  return {top_k_kernels(step.k.constant().value_or(0), compute_capability)};
}

}  // namespace smelt
