#include "codegen/cuda/sort_kernels.h"

#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kSortThreads = 256, kRankThreads = 8;  // of a block; for one index

/// Indices outside of the rows count as larger than all others, as unsigned numbers are, and so come last:
/// behind the end of the last row's part, where nobody looks.
constexpr std::string_view kRank =
    R"(// Where each index stands among all: smaller ones first, equal ones in their order. Eight threads count for one
// index, each an eighth of all, read through shared memory; what they find depends on the order of nothing.
extern "C" __global__ void __launch_bounds__(256)
    smelt_sort_rank(const int* indices, int* permutation, int* begins, long long count_, long long rows_) {
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

}  // namespace

std::vector<KernelCode> sort_kernels() {
  KernelCode rank;
  rank.name = kRankName;
  rank.range = 1;  // the step says how many
  rank.threads = kSortThreads;
  rank.launch = TemplateLaunch{
      .step = "sort_index",
      .arguments = {address("indices", DType::i32, PlaceUse::read),
                    address("permutation", DType::i32, PlaceUse::write), unused_address("begins", DType::i32),
                    integer(field("count")), integer(field("rows"))}};
  KernelCode begins = rank;
  begins.name = kBeginsName;
  begins.launch->arguments[1] = address("permutation", DType::i32, PlaceUse::read);
  begins.launch->arguments[2] = address("begins", DType::i32, PlaceUse::write);
  rank.launch->blocks = ceil_div(field("count") * kRankThreads, kSortThreads);
  begins.launch->blocks = ceil_div(field("rows") + 1, kSortThreads);
  rank.source = kRank, begins.source = kBegins;
  return {rank, begins};
}

}  // namespace smelt
