// A list of words (tokens of the vocabulary) in shared memory. It has all words of some adjacent bins
// (bins.cuh), sorted from the largest entry to the least one. An entry is a word's score and index as one
// integer (../rows/entry.cuh). The weight of a word is its unnormalized probability, and a mass is a sum of
// weights.
// Requires: bins.cuh.

constexpr int kListed = 2 * kThreads;  // the most words of a list
__shared__ Entry list[kListed];
// kBlocks blocks process one row, the scores of all words for one new token. listed: the number of words
// that these blocks have put into lists since the kernel began. Only the variable of the row's first block
// is used.
__shared__ unsigned listed;

// Describes the list of a block.
struct Listed {
  int first = 0, end = 0;        // the words of bins first, ..., end - 1 are listed
  unsigned count = 0, ever = 0;  // words in the list; value of `listed` now
  // before: number (a) and mass (b) of the words in bins 0 to first - 1. upto.b: the mass of these words and
  // of words 0 to 2 * threadIdx.x + 1 of the list; upto.a is unused.
  Two before = {0, 0}, upto = {0, 0};
};

// Returns the score of an entry. The high 32 bits of an entry are the key of its score (key_of in
// ../rows/entry.cuh).
__device__ __forceinline__ float score_of(Entry entry) {
  const unsigned key = (unsigned)(entry >> 32);
  return __uint_as_float(key >> 31 ? key & 0x7FFFFFFFu : ~key);
}
// Returns the weight of word i of the list, which has `count` words; 0 if there is no word i.
__device__ __forceinline__ Mass listed_weight(const Words& words, int i, unsigned count) {
  return i < (int)count ? words.weight(score_of(list[i])) : 0;
}

// Puts the words of bins here.first to here.end - 1 into the lists of all blocks of the row, in any order.
// Afterwards all these lists are equal. All threads of these blocks call it. Requires: here.count is the
// number of these words, at most kListed.
__device__ __forceinline__ void gather_words(const Words& words, const Bins& bins, Listed& here) {
  if (here.ever > 0) row_sync();  // other threads may still read the previous list, which is overwritten
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

// Sorts the list of this block, which has `count` words, from the largest entry to the least one. This is a
// bitonic sort, with one pair of words per thread. The list is first filled up to a power of two with
// entries 0. All threads of the block call it.
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

