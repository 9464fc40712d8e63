// The scores of a row, and reductions over all thread blocks that share the row. A word is a token of the
// vocabulary, a weight is its unnormalized probability, and a mass is a sum of weights (weights.cuh). Keys
// and entries are integers that order scores (../rows/entry.cuh).
// Requires: kBlocks (blocks per row), the array `held` of kHeld scores in shared memory, rows/*.cuh and
// weights.cuh.

constexpr int kThreads = 1024;  // per block
// Sampling settings of a row (DrawSettings in runtime/sampling/token_weights.h). seed, position and index
// select the random number.
struct Settings {
  float temperature, top_p, min_p;
  int top_k;
  unsigned seed, position, index;
};
// The words that a block processes: `count` words, from word number `first` of the row on.
struct Words {
  const float* x;  // the scores of these words in global memory; `held` has a copy of the first kHeld
  int first, count;
  float largest, rate;  // the largest score of the row (0 before it is known); 1 / temperature

  // Return the score and the entry of word number i of the block, 0 <= i < count.
  __device__ __forceinline__ float score(int i) const { return i < kHeld ? held[i] : x[i]; }
  __device__ __forceinline__ Entry entry(int i) const { return entry_of(key_of(score(i)), first + i); }
  // Returns the weight of a word with this score. Requires: `largest` is known.
  __device__ __forceinline__ Mass weight(float score) const {
    return score == largest ? kWholeWeight : weight_of(__fmul_rn(__fadd_rn(score, -largest), rate));
  }
};

// Two integers that are reduced together. Reductions are sums if kSum, and otherwise maxima.
struct Two {
  Mass a, b;
};
// Returns the sums or the maxima of the members of x and y: of both `a`, and of both `b`.
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

__shared__ Two warp_found[32], block_found[2];  // result of each warp; of the block, per `turn`

// Reduces `mine` over all threads of all blocks of the row, and returns the result to each of these
// threads. All of them call it. `turn` is 0 or 1, and changes with each call. So a block can write its
// result of the next call while other blocks still read the result of this call.
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

// Reads the block's scores, and copies the first kHeld of them to `held`. Returns two integers for the
// words of this thread. `a` is the largest entry; it is ~0 if a score is NaN. `b` is ~key of the least
// score above -inf, or 0 if there is no such score. The caller computes the maximum of each over all
// threads. No barrier follows, because a thread later reads only the elements of `held` that it has
// written.
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

// Selects the words of this thread whose entry is at least `least` and whose weight is not 0 and at least
// least_weight. Returns their number (a) and their mass (b).
__device__ __forceinline__ Two words_from(const Words& words, Entry least, Mass least_weight) {
  Two found = {0, 0};
#pragma unroll 1
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const Mass weight = words.entry(i) >= least ? words.weight(words.score(i)) : 0;
    if (weight > 0 && weight >= least_weight) ++found.a, found.b += weight;
  }
  return found;
}

