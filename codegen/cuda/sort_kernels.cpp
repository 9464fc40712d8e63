#include "codegen/cuda/sort_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

constexpr int kSortThreads = 256, kRankThreads = 8;  // of a block; for one index
constexpr int64_t kMostCompared = 4096;              // indices: from there on a radix sort is faster
constexpr int kMostBits = 9;                         // of a digit: 18 KiB of counts in a block
/// The number of indices that a block places at once, and the most blocks: few, because each reads the counts
/// of all.
constexpr int64_t kSortTile = 2048, kMostBlocks = 128;

KernelCode kernel_of_sort(std::string name, std::string source, Dim blocks) {
  KernelCode kernel;
  kernel.name = std::move(name);
  kernel.range = 1;  // the step says how many
  kernel.threads = kSortThreads;
  kernel.source = std::move(source);
  kernel.launch = TemplateLaunch{.step = "sort_index", .blocks = std::move(blocks)};
  return kernel;
}

TemplateLaunch::Argument indices() { return address("indices", DType::i32, PlaceUse::read); }

/// Computes the rank of each index among all by comparing it with each.
KernelCode rank_kernel() {
  const Dim count = field("count");
  KernelCode kernel = kernel_of_sort("smelt_sort_rank", std::string(device::kSortingRank),
                                     ceil_div(count * kRankThreads, kSortThreads));
  kernel.launch->arguments = {indices(), address("permutation", DType::i32, PlaceUse::write), integer(count),
                              integer(field("rows"))};
  kernel.launch->conditions = {{.value = count, .below = kMostCompared + 1}};
  return kernel;
}

KernelCode begins_kernel() {
  const Dim rows = field("rows");
  KernelCode kernel = kernel_of_sort("smelt_sort_begins", std::string(device::kSortingBegins),
                                     ceil_div(rows + 1, kSortThreads));
  kernel.launch->arguments = {indices(), address("permutation", DType::i32, PlaceUse::read),
                              address("begins", DType::i32, PlaceUse::write), integer(field("count")),
                              integer(rows)};
  return kernel;
}

/// `text` is the file of the kernel.
KernelCode radix_kernel(const RadixSort& radix, const std::string& what, int digit, std::string_view text) {
  const std::string name =
      fmt::format("smelt_sort_{}{}_{}x{}_{}", what, digit, radix.digits, radix.bits, radix.chunk);
  std::string source = fmt::format("constexpr int kDigits = {}, kBits = {}, kChunk = {}, kDigit = {};\n{}",
                                   radix.digits, radix.bits, radix.chunk, digit, device::kSortingDigits);
  source += with_words(text, {{"KERNEL", name}});
  const Dim count = field("count");
  KernelCode kernel = kernel_of_sort(name, std::move(source), ceil_div(count, radix.chunk));
  kernel.launch->conditions = {{.value = count * -1, .below = -kMostCompared},
                               {.value = radix.workspace(count) - field("workspace_elements"), .below = 1}};
  return kernel;
}

KernelCode count_kernel(const RadixSort& radix) {
  KernelCode kernel = radix_kernel(radix, "count", 0, device::kSortingCount);
  kernel.launch->arguments = {indices(), address("workspace_base", DType::i32, PlaceUse::write),
                              integer(field("count")), integer(field("rows"))};
  return kernel;
}

KernelCode place_kernel(const RadixSort& radix, int digit) {
  KernelCode kernel = radix_kernel(radix, "place", digit, device::kSortingPlace);
  const bool to_result = (radix.digits - digit) % 2 == 1, reads_result = !to_result && digit > 0;
  kernel.launch->arguments = {indices(), address("permutation", DType::i32, PlaceUse::write),
                              address("workspace_base", DType::i32, PlaceUse::read_write),
                              integer(field("count")), integer(field("rows"))};
  kernel.launch->arguments[1].written = to_result, kernel.launch->arguments[1].read = reads_result;
  return kernel;
}

}  // namespace

Dim RadixSort::workspace(const Dim& count) const {
  const Dim histograms = ceil_div(count, chunk) * (int64_t{digits} << bits);
  return digits > 1 ? count + histograms : histograms;
}

std::optional<RadixSort> radix_sort(const Dim& count, const Dim& rows, const Symbols& symbols) {
  const int64_t most = symbols.upper(count);
  if (most <= kMostCompared) return {};
  const int width = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, symbols.upper(rows))));
  RadixSort radix;
  radix.digits = (width + kMostBits - 1) / kMostBits;
  radix.bits = (width + radix.digits - 1) / radix.digits;
  radix.chunk = kSortTile * ((most + kSortTile * kMostBlocks - 1) / (kSortTile * kMostBlocks));
  return radix;
}

std::vector<KernelCode> sort_kernels(const std::optional<RadixSort>& radix) {
  std::vector<KernelCode> kernels = {rank_kernel()};
  if (radix) {
    kernels.push_back(count_kernel(*radix));
    for (int digit = 0; digit < radix->digits; ++digit) kernels.push_back(place_kernel(*radix, digit));
  }
  kernels.push_back(begins_kernel());
  return kernels;
}

StepKernels step_kernels(const SortIndexStep& step, const Symbols& symbols, int) {
  return {sort_kernels(radix_sort(step.count, step.rows, symbols)), /*in_sequence=*/true};
}

}  // namespace smelt
