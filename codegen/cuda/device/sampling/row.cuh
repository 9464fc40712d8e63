// The scores of a row, and reductions over all thread blocks that share the row. A word is a token of the
// vocabulary, a weight is its unnormalized probability, and a mass is a sum of weights (weights.cuh).
// Requires: kBlocks, kHeld and the array held (scores in shared memory); rows/*.cuh and weights.cuh.

constexpr int kThreads = 1024;  // per block
// Settings of a row (DrawSettings in runtime/sampling/token_weights.h).
struct Settings {
  float temperature, top_p, min_p;
  int top_k;
  unsigned seed, position, index;
};
// The part of the row that a block processes: `count` words, from word number `first` of the row on.
struct Words {
  const float* x;  // the block's scores in global memory; `held` has a copy of the first kHeld
  int first, count;
  float largest, rate;  // the largest score of the row, when it is known, and 1 / temperature

  // Indices i are from 0 to count - 1.
  __device__ __forceinline__ float score(int i) const { return i < kHeld ? held[i] : x[i]; }
  __device__ __forceinline__ Entry entry(int i) const { return entry_of(key_of(score(i)), first + i); }
  __device__ __forceinline__ Mass weight(float score) const {
    return score == largest ? kWholeWeight : weight_of(__fmul_rn(__fadd_rn(score, -largest), rate));
  }
};

// Two integers that are reduced together: to the two sums (kSum) or the two maxima (not kSum).
struct Two {
  Mass a, b;
};
template <bool kSum>
__device__ __forceinline__ Two combined(Two x, Two y) {
  if (kSum) return {x.a + y.a, x.b + y.b};
  return {x.a > y.a ? x.a : y.a, x.b > y.b ? x.b : y.b};
}
// Reduces x over each group of `lanes` adjacent lanes (a power of two). All lanes of a warp call it, and each
// lane gets the result of its group.
template <bool kSum>
__device__ __forceinline__ Two of_lanes(Two x, int lanes) {
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2)
    x = combined<kSum>(x, {__shfl_xor_sync(0xFFFFFFFFu, x.a, d), __shfl_xor_sync(0xFFFFFFFFu, x.b, d)});
  return x;
}

__shared__ Two warp_found[32], block_found[2];  // per warp; per block, for `turn` 0 and 1

// Reduces `mine` over all threads of all blocks of the row, and returns the result to each of them; all call
// it. `turn` alternates between 0 and 1, so a block may write the result of its next call while others still
// read this one. Its row_sync keeps every block less than two calls ahead of the others.
template <bool kSum>
__device__ __forceinline__ Two of_row(Two mine, int& turn) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  mine = of_lanes<kSum>(mine, 32);
  if (lane == 0) warp_found[warp] = mine;
  __syncthreads();
  turn ^= 1;
  if (warp == 0) {
    mine = of_lanes<kSum>(warp_found[lane], 32);
    if (lane == 0) block_found[turn] = mine;
  }
  row_sync();
  return of_lanes<kSum>(*in_block(&block_found[turn], lane % kBlocks), kBlocks);
}

// Reads the block's scores, and copies the first kHeld of them to `held`. Returns for the words of this
// thread: a, the largest entry, all ones if a score is NaN; b, the complement of the key of the least score
// above -inf, or 0. Both are then reduced as maxima. A thread later reads only the part of `held` that it
// wrote here, so no barrier is needed.
__device__ __forceinline__ Two read_words(const Words& words) {
  Two found = {0, 0};
#pragma unroll 16
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const float x = words.x[i];
    if (i < kHeld) held[i] = x;
    const unsigned key = key_of(x);
    const Entry entry = x == x ? entry_of(key, words.first + i) : ~0ull;
    if (entry > found.a) found.a = entry;
    if (key > kLowestKey && ~key > found.b) found.b = ~key;
  }
  return found;
}

// Returns for the words of this thread the number (a) and the mass (b) of those that have an entry of at
// least `least`, and a weight that is not 0 and at least `least_weight`.
__device__ __forceinline__ Two words_from(const Words& words, Entry least, Mass least_weight) {
  Two found = {0, 0};
#pragma unroll 1
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const Mass weight = words.entry(i) >= least ? words.weight(words.score(i)) : 0;
    if (weight > 0 && weight >= least_weight) ++found.a, found.b += weight;
  }
  return found;
}

