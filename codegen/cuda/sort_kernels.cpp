#include "codegen/cuda/sort_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kSortThreads = 256, kRankThreads = 8;  // of a block; for one index
constexpr int64_t kMostCompared = 4096;              // indices: from there on a radix sort is faster
constexpr int kMostBits = 9;                         // of a digit: 18 KiB of counts in a block
/// The number of indices that a block places at once, and the most blocks: few, because each reads the counts
/// of all.
constexpr int64_t kSortTile = 2048, kMostBlocks = 128;

constexpr std::string_view kRank =
    R"(// Where each index stands among all: smaller ones first, equal ones in their order. Eight threads count for one
// index, each an eighth of all, read through shared memory; what they find depends on the order of nothing.
extern "C" __global__ void __launch_bounds__(256)
    smelt_sort_rank(const int* indices, int* permutation, long long count_, long long rows_) {
  __shared__ unsigned tile[2048];
  const int count = (int)count_, rows = (int)rows_, i = (int)(blockIdx.x * 32 + threadIdx.x / 8), part = threadIdx.x % 8;
  const unsigned kNone = 0xFFFFFFFFu;
  const int index = i < count ? indices[i] : -1;
  const unsigned mine = index >= 0 && index < rows ? (unsigned)index : kNone;
  int rank = 0;
  for (int first = 0; first < count; first += 2048) {
    const int n = count - first < 2048 ? count - first : 2048;
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += 256) {
      const int other = indices[first + j];
      tile[j] = other >= 0 && other < rows ? (unsigned)other : kNone;
    }
    __syncthreads();
    const int before = i - first;  // those of the tile that stand before mine
#pragma unroll 8
    for (int j = part; j < n; j += 8) rank += tile[j] < mine || (tile[j] == mine && j < before);
  }
#pragma unroll
  for (int d = 1; d < 8; d *= 2) rank += __shfl_xor_sync(0xFFFFFFFFu, rank, d);
  if (i < count && part == 0) permutation[rank] = i;
}
)";

constexpr std::string_view kBegins =
    R"(// Where each row's part of the permutation begins: the first place whose index is not smaller, by halving.
extern "C" __global__ void __launch_bounds__(256)
    smelt_sort_begins(const int* indices, const int* permutation, int* begins, long long count_,
                      long long rows_) {
  const int count = (int)count_, rows = (int)rows_, row = (int)(blockIdx.x * 256 + threadIdx.x);
  if (row > rows) return;
  int low = 0, high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2, index = indices[permutation[middle]];
    const bool smaller = index >= 0 && index < row;
    low = smaller ? middle + 1 : low;
    high = smaller ? high : middle;
  }
  begins[row] = low;
}
)";

/// Text that the kernels of a radix sort share. Indices outside of the rows count as `rows`, and come after
/// all others.
constexpr std::string_view kDigitText =
    R"(constexpr int kBins = 1 << kBits;  // values of a digit
__device__ __forceinline__ int digit_of(int index, int rows, int digit) {
  const int key = index >= 0 && index < rows ? index : rows;
  return key >> digit * kBits & (kBins - 1);
}
// For every digit, how often each value of it is in each block's chunk: behind a permutation, if there are two.
__device__ __forceinline__ int* histogram_of(int* workspace, int count, int digit) {
  const int blocks = (count + kChunk - 1) / kChunk;
  return workspace + (kDigits > 1 ? count : 0) + digit * blocks * kBins;
}
)";

constexpr std::string_view kCountText =
    R"((const int* indices, int* workspace, long long count_, long long rows_) {
  // How often each value of the first digit is in the block's chunk. Those of the other digits are counted when
  // their indices get there.
  __shared__ int counts[kBins];
  const int count = (int)count_, rows = (int)rows_, first = (int)blockIdx.x * kChunk;
  const int end = count - first < kChunk ? count : first + kChunk;
  for (int i = threadIdx.x; i < kBins; i += 256) counts[i] = 0;
  __syncthreads();
  for (int i = first + threadIdx.x; i < end; i += 256) atomicAdd(&counts[digit_of(indices[i], rows, 0)], 1);
  __syncthreads();
  for (int digit = 0; digit < kDigits; ++digit)
    for (int i = threadIdx.x; i < kBins; i += 256)
      histogram_of(workspace, count, digit)[blockIdx.x * kBins + i] = digit == 0 ? counts[i] : 0;
}
)";

constexpr std::string_view kPlaceText =
    R"((const int* indices, int* permutation, int* workspace, long long count_, long long rows_) {
  // Moves every index to its place by one digit, equal ones in their order: behind the indices of smaller digits,
  // those of earlier blocks and warps, and those before it in its warp. Sums of whole numbers have no order.
  __shared__ int counts[8][kBins];  // of each warp, then where its next index of each value goes
  __shared__ int next[kBins];       // the block's
  __shared__ int sums[8];
  const int count = (int)count_, rows = (int)rows_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int blocks = (count + kChunk - 1) / kChunk;
  const int* const histogram = histogram_of(workspace, count, kDigit);
  int* const following = histogram_of(workspace, count, kDigit + 1);
  int* const to = (kDigits - kDigit) % 2 ? permutation : workspace;
  const int* const from = (kDigits - kDigit) % 2 ? workspace : permutation;

  constexpr int kEach = kBins > 256 ? kBins / 256 : 1;  // neighbouring values of a thread
  int before[kEach], all = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int value = threadIdx.x * kEach + e;
    int earlier = 0, total = 0;
    if (value < kBins) {
#pragma unroll 8
      for (int b = 0; b < blocks; ++b) {
        const int n = histogram[b * kBins + value];
        earlier += b < (int)blockIdx.x ? n : 0;
        total += n;
      }
    }
    before[e] = all + earlier;
    all += total;
  }
  int upto = all;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
    upto += lane >= d ? below : 0;
  }
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  int begin = upto - all;
  for (int w = 0; w < warp; ++w) begin += sums[w];
#pragma unroll
  for (int e = 0; e < kEach; ++e)
    if (threadIdx.x * kEach + e < kBins) next[threadIdx.x * kEach + e] = begin + before[e];

  const int chunk = (int)blockIdx.x * kChunk, end = count - chunk < kChunk ? count : chunk + kChunk;
  for (int first = chunk; first < end; first += 2048) {
    for (int i = threadIdx.x; i < 8 * kBins; i += 256) counts[i / kBins][i % kBins] = 0;
    const int mine = first + warp * 256 + lane;
    int position[8], index[8], rank[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int i = mine + 32 * r;
      position[r] = kDigit == 0 || i >= end ? i : from[i];
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) index[r] = mine + 32 * r < end ? indices[position[r]] : -1;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int value = digit_of(index[r], rows, kDigit);
      const bool inside = mine + 32 * r < end;
      unsigned equal = __ballot_sync(0xFFFFFFFFu, inside);
#pragma unroll
      for (int bit = 0; bit < kBits; ++bit) {
        const bool set = value >> bit & 1;
        const unsigned votes = __ballot_sync(0xFFFFFFFFu, set);
        equal &= set ? votes : ~votes;
      }
      const int known = counts[warp][value], earlier = __popc(equal & ((1u << lane) - 1));
      rank[r] = known + earlier;
      __syncwarp(0xFFFFFFFFu);
      if (inside && earlier == 0) counts[warp][value] = known + __popc(equal);
      __syncwarp(0xFFFFFFFFu);
    }
    __syncthreads();
    for (int value = threadIdx.x; value < kBins; value += 256) {
      int at = next[value];
#pragma unroll
      for (int w = 0; w < 8; ++w) {
        const int n = counts[w][value];
        counts[w][value] = at;
        at += n;
      }
      next[value] = at;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      if (mine + 32 * r >= end) continue;
      const int place = counts[warp][digit_of(index[r], rows, kDigit)] + rank[r];
      to[place] = position[r];
      if (kDigit + 1 < kDigits)
        atomicAdd(&following[place / kChunk * kBins + digit_of(index[r], rows, kDigit + 1)], 1);
    }
    __syncthreads();
  }
}
)";

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
  KernelCode kernel =
      kernel_of_sort("smelt_sort_rank", std::string(kRank), ceil_div(count * kRankThreads, kSortThreads));
  kernel.launch->arguments = {indices(), address("permutation", DType::i32, PlaceUse::write), integer(count),
                              integer(field("rows"))};
  kernel.launch->conditions = {{.value = count, .below = kMostCompared + 1}};
  return kernel;
}

KernelCode begins_kernel() {
  const Dim rows = field("rows");
  KernelCode kernel =
      kernel_of_sort("smelt_sort_begins", std::string(kBegins), ceil_div(rows + 1, kSortThreads));
  kernel.launch->arguments = {indices(), address("permutation", DType::i32, PlaceUse::read),
                              address("begins", DType::i32, PlaceUse::write), integer(field("count")),
                              integer(rows)};
  return kernel;
}

/// `text` is the source after the kernel's name.
KernelCode radix_kernel(const RadixSort& radix, const std::string& what, int digit, std::string_view text) {
  const std::string name =
      fmt::format("smelt_sort_{}{}_{}x{}_{}", what, digit, radix.digits, radix.bits, radix.chunk);
  std::string source = fmt::format("constexpr int kDigits = {}, kBits = {}, kChunk = {}, kDigit = {};\n{}",
                                   radix.digits, radix.bits, radix.chunk, digit, kDigitText);
  source +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__({})\n    {}{}", kSortThreads, name, text);
  const Dim count = field("count");
  KernelCode kernel = kernel_of_sort(name, std::move(source), ceil_div(count, radix.chunk));
  kernel.launch->conditions = {{.value = count * -1, .below = -kMostCompared},
                               {.value = radix.workspace(count) - field("workspace_elements"), .below = 1}};
  return kernel;
}

KernelCode count_kernel(const RadixSort& radix) {
  KernelCode kernel = radix_kernel(radix, "count", 0, kCountText);
  kernel.launch->arguments = {indices(), address("workspace_base", DType::i32, PlaceUse::write),
                              integer(field("count")), integer(field("rows"))};
  return kernel;
}

KernelCode place_kernel(const RadixSort& radix, int digit) {
  KernelCode kernel = radix_kernel(radix, "place", digit, kPlaceText);
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
