#include "codegen/cuda/top_k_kernel.h"

#include <fmt/format.h>

#include <bit>

#include "codegen/cuda/row_text.h"
#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kTopThreads = 1024;
constexpr int64_t kMostFew = 32;  // up to this k, a pass over the maxima of groups finds nearly all

/// Text that all forms share.
constexpr std::string_view kPutText =
    R"(__device__ __forceinline__ void put(const float* x, Entry entry, float* value, int* index) {
  const int at = entry == 0 ? -1 : index_of(entry);
  *value = at < 0 ? __uint_as_float(0xFF800000u) : x[at];
  *index = at;
}

)";

constexpr std::string_view kSelectText =
    R"(KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // One row per block. The k-th largest key is found digit by digit, the highest first, by counting the values of a
  // digit among the keys that begin as it does. Larger keys are then taken in any order, equal ones in that of
  // their indices, and all of them sorted: what comes out depends on the order of nothing.
  __shared__ int counts[2048];
  __shared__ int sums[32];
  __shared__ Entry best[kSorted];
  __shared__ unsigned next_key;
  __shared__ int next_need, taken;
  const float* const x = x_ + (long long)blockIdx.x * row_stride;
  const int count = (int)count_, thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  int need = count < kK ? count : kK;  // of the keys that begin with `key`
  unsigned key = 0;
  for (int pass = 0; pass < 3 && need > 0; ++pass) {
    const int shift = pass == 0 ? 21 : pass == 1 ? 10 : 0, bits = pass == 2 ? 10 : 11;
    counts[thread] = 0, counts[thread + 1024] = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = thread; i < count; i += 1024) {
      const unsigned other = key_of(x[i]);
      if (pass == 0 || other >> (shift + bits) == key) atomicAdd(&counts[other >> shift & ((1u << bits) - 1)], 1);
    }
    __syncthreads();
    // The largest values first: two of them a thread.
    const int high = counts[2047 - 2 * thread], low = counts[2046 - 2 * thread];
    int upto = high + low;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
      upto += lane >= d ? below : 0;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int before = upto - high - low;
    for (int w = 0; w < warp; ++w) before += sums[w];
    if (before < need && before + high + low >= need) {
      const bool first = before + high >= need;
      next_key = key << bits | (unsigned)(first ? 2047 - 2 * thread : 2046 - 2 * thread);
      next_need = first ? need - before : need - before - high;
    }
    __syncthreads();
    key = next_key, need = next_need;
  }
  if (thread == 0) taken = 0;
  if (thread < kSorted) best[thread] = 0;
  __syncthreads();
  int equal = 0;  // so far
  for (int first = 0; first < count; first += 1024) {
    const int i = first + thread;
    const unsigned other = i < count ? key_of(x[i]) : 0u;
    if (i < count && other > key) best[atomicAdd(&taken, 1)] = entry_of(other, i);
    if (equal >= need) continue;
    const bool same = i < count && other == key;
    const unsigned votes = __ballot_sync(0xFFFFFFFFu, same);
    if (lane == 0) sums[warp] = __popc(votes);
    __syncthreads();
    int before = equal + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < 32; ++w) {
      before += w < warp ? sums[w] : 0;
      equal += sums[w];
    }
    if (same && before < need) best[atomicAdd(&taken, 1)] = entry_of(other, i);
    __syncthreads();
  }
  for (int size = 2; size <= kSorted; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int other = thread ^ stride;
      if (thread >= kSorted || other < thread) continue;
      const Entry a = best[thread], b = best[other];
      if ((a < b) == ((thread & size) == 0)) best[thread] = b, best[other] = a;
    }
  __syncthreads();
  const long long to = (long long)blockIdx.x * kK + thread;
  if (thread < kK) put(x, best[thread], values + to, indices + to);
}
)";

/// For at most 32 elements: most elements of a row are read only once.
constexpr std::string_view kFewText =
    R"(constexpr int kThreads = 1024, kEach = 16, kGroups = kThreads / 16, kListed = kThreads;
__shared__ unsigned largest_of[kGroups], bound;
__shared__ Entry list[kListed], found[kK];
__shared__ int listed;

// A thread's elements of a piece of a row: their keys, and where the piece begins and the row's part ends.
struct Piece {
  unsigned keys[kEach];
  int first, count;
  __device__ __forceinline__ int index(int e) const { return first + e * kThreads + (int)threadIdx.x; }
  __device__ __forceinline__ Entry entry(int e) const {
    return index(e) < count ? entry_of(keys[e], index(e)) : 0;
  }
};
__device__ __forceinline__ Piece piece_of(const float* x, int first, int count) {
  Piece piece;
  piece.first = first, piece.count = count;
  float values[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) values[e] = piece.index(e) < count ? x[piece.index(e)] : 0.0f;
#pragma unroll
  for (int e = 0; e < kEach; ++e) piece.keys[e] = piece.index(e) < count ? key_of(values[e]) : 0u;
  return piece;
}

// The k-th largest of the maxima of groups: at least k elements have keys that are not below it, and not many more.
__device__ __forceinline__ unsigned bound_of(const Piece& piece) {
  const int thread = (int)threadIdx.x;
  unsigned largest = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) largest = piece.keys[e] > largest ? piece.keys[e] : largest;
#pragma unroll
  for (int d = 8; d > 0; d /= 2) {
    const unsigned other = __shfl_xor_sync(0xFFFFFFFFu, largest, d);
    largest = other > largest ? other : largest;
  }
  if (thread % 16 == 0) largest_of[thread / 16] = largest;
  __syncthreads();
  if (thread < kGroups) {
    const unsigned mine = largest_of[thread];
    int before = 0;
#pragma unroll 16
    for (int g = 0; g < kGroups; ++g)
      before += largest_of[g] > mine || (largest_of[g] == mine && g < thread) ? 1 : 0;
    if (before == kK - 1) bound = mine;
  }
  __syncthreads();
  return bound;
}

// Puts what is not below `least` behind what is listed, as far as there is room; how many are there then.
__device__ __forceinline__ int list_from(const Piece& piece, Entry least, int before) {
  if (threadIdx.x == 0) listed = before;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const Entry entry = piece.entry(e);
    if (entry == 0 || entry < least) continue;
    const int at = atomicAdd(&listed, 1);
    if (at < kListed) list[at] = entry;
  }
  __syncthreads();
  const int all = listed;
  __syncthreads();
  return all;
}

// Where many are equal, or a group has many of the largest: halves the entries at which the list may end, until at
// least k of this piece are left.
__device__ __forceinline__ int list_fewer(const Piece& piece, Entry least, int before) {
  Entry low = least, high = ~0ull;
  int all = kListed + 1;
  while (all > kListed || all < before + kK) {
    const Entry middle = low + (high - low) / 2;
    all = list_from(piece, middle, before);
    if (all < before + kK) high = middle;
    if (all > kListed) low = middle;
  }
  return all;
}

// The k largest of the list, sorted: an entry's place is how many are larger.
__device__ __forceinline__ void sort_list(int count) {
  const int thread = (int)threadIdx.x;
  if (thread < kK) found[thread] = 0;
  __syncthreads();
  if (thread < count) {
    const Entry mine = list[thread];
    int before = 0;
#pragma unroll 8
    for (int i = 0; i < count; ++i) before += list[i] > mine ? 1 : 0;
    if (before < kK && mine > 0) found[before] = mine;
  }
  __syncthreads();
}

// Of a part of a row, into `found`.
__device__ __forceinline__ void find_largest(const float* x, int first, int end) {
  int kept = 0;
  for (int begin = first; begin < end; begin += kThreads * kEach) {
    const Piece piece = piece_of(x, begin, end);
    Entry least = (Entry)bound_of(piece) << 32;
    if (kept == kK && found[kK - 1] > least) least = found[kK - 1];
    if ((int)threadIdx.x < kept) list[threadIdx.x] = found[threadIdx.x];
    int all = list_from(piece, least, kept);
    if (all > kListed) all = list_fewer(piece, least, kept);
    sort_list(all);
    kept = all < kK ? all : kK;
  }
  if (kept == 0) sort_list(0);
}

KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // Each block finds the largest of its part of the row, the first one those of all parts.
  const long long row = blockIdx.x / kBlocks;
  const float* const x = x_ + row * row_stride;
  const int count = (int)count_, part = (count + kBlocks - 1) / kBlocks, thread = (int)threadIdx.x;
  const int first = block_of_row() * part;
  find_largest(x, first, first + part < count ? first + part : count);
  if (kBlocks > 1) {
    row_sync();  // the first block has done with its list
    if (thread < kK) in_block(list, 0)[block_of_row() * kK + thread] = found[thread];
    row_sync();
    if (block_of_row() > 0) return;
    sort_list(kBlocks * kK);
  }
  if (thread < kK) put(x, found[thread], values + row * kK + thread, indices + row * kK + thread);
}
)";

/// Returns the kernel with one block per row, or with a cluster per row.
KernelCode few_kernel(int64_t k, std::string_view kind, int blocks, RowKind rows) {
  const std::string text = fmt::format("constexpr int kK = {};\n{}{}{}", k, kEntryText, kPutText, kFewText);
  return kernel_of_rows(fmt::format("smelt_top_{}{}", kind, k), "top_k", text, kTopThreads, blocks, rows);
}

KernelCode select_kernel(int64_t k) {
  const uint64_t sorted = std::bit_ceil(static_cast<uint64_t>(k));
  const std::string text = fmt::format("constexpr int kK = {}, kSorted = {};\n{}{}{}", k, sorted, kEntryText,
                                       kPutText, kSelectText);
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
