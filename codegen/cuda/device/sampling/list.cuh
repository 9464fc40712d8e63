// A sorted list of the words of some bins, in shared memory.
// Requires: bins.cuh.

constexpr int kListed = 2 * kThreads;
__shared__ Entry list[kListed];
__shared__ unsigned listed;  // of the row, ever: in its first block

// Which bins' words are listed, and what lies before them.
struct Listed {
  int first = 0, end = 0;  // bins
  unsigned count = 0, ever = 0;
  Two before = {0, 0}, upto = {0, 0};  // of the list; of this thread's two words and those before
};

__device__ __forceinline__ float score_of(Entry entry) {
  const unsigned key = (unsigned)(entry >> 32);
  return __uint_as_float(key >> 31 ? key & 0x7FFFFFFFu : ~key);
}
__device__ __forceinline__ Mass listed_weight(const Words& words, int i, unsigned count) {
  return i < (int)count ? words.weight(score_of(list[i])) : 0;
}

// Every block gets the whole list, in any order.
__device__ __forceinline__ void gather_words(const Words& words, const Bins& bins, Listed& here) {
  if (here.ever > 0) row_sync();  // others may still look at what is overwritten
#pragma unroll 1
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const float score = words.score(i);
    if (words.weight(score) == 0) continue;
    const int bin = bins.of(score);
    if (bin < here.first || bin >= here.end) continue;
    const unsigned at = atomicAdd(in_block(&listed, 0), 1u) - here.ever;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) in_block(list, block)[at] = words.entry(i);
  }
  here.ever += here.count;
  row_sync();
}

__device__ __forceinline__ void sort_list(unsigned count) {
  unsigned all = 2;
  while (all < count) all *= 2;
  for (unsigned i = count + threadIdx.x; i < all; i += kThreads) list[i] = 0;
#pragma unroll 1
  for (unsigned size = 2; size <= all; size *= 2)
#pragma unroll 1
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned i = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      if (i >= all) continue;
      const Entry a = list[i], b = list[i + stride];
      if ((a < b) == ((i & size) == 0)) list[i] = b, list[i + stride] = a;
    }
  __syncthreads();
}

