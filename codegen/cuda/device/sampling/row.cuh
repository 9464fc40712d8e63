// The scores of a row, and sums over all blocks that share the row.
// Requires: kBlocks, kHeld and the array held (scores in shared memory); rows/*.cuh and weights.cuh.

constexpr int kThreads = 1024;
struct Settings {
  float temperature, top_p, min_p;
  int top_k;
  unsigned seed, position, index;
};
// What a block works on: its words of the row, the first of which are held in shared memory.
struct Words {
  const float* x;
  int first, count;
  float largest, rate;  // of the row, once that is known

  __device__ __forceinline__ float score(int i) const { return i < kHeld ? held[i] : x[i]; }
  __device__ __forceinline__ Entry entry(int i) const { return entry_of(key_of(score(i)), first + i); }
  __device__ __forceinline__ Mass weight(float score) const {
    return score == largest ? kWholeWeight : weight_of(__fmul_rn(__fadd_rn(score, -largest), rate));
  }
};

// Two numbers of which the blocks of a row find the sums, or the largest.
struct Two {
  Mass a, b;
};
template <bool kSum>
__device__ __forceinline__ Two combined(Two x, Two y) {
  if (kSum) return {x.a + y.a, x.b + y.b};
  return {x.a > y.a ? x.a : y.a, x.b > y.b ? x.b : y.b};
}
template <bool kSum>
__device__ __forceinline__ Two of_lanes(Two x, int lanes) {
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2)
    x = combined<kSum>(x, {__shfl_xor_sync(0xFFFFFFFFu, x.a, d), __shfl_xor_sync(0xFFFFFFFFu, x.b, d)});
  return x;
}

__shared__ Two warp_found[32], block_found[2];

// Of all threads of the row, the same in each. The two places take turns: nobody is two calls ahead.
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

// Reads the words. The largest with its index, all ones where a score is NaN; and the least score above -inf, as
// the complement of its key.
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

// How many words are not before `least`, and their mass.
__device__ __forceinline__ Two words_from(const Words& words, Entry least, Mass least_weight) {
  Two found = {0, 0};
#pragma unroll 1
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const Mass weight = words.entry(i) >= least ? words.weight(words.score(i)) : 0;
    if (weight > 0 && weight >= least_weight) ++found.a, found.b += weight;
  }
  return found;
}

