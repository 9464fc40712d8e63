// Sums over the words of a row by their distance from the largest score: a bin per thread.
// Requires: row.cuh.

constexpr int kBins = kThreads;
// Of words with a weight, by their distance from the largest: of this block, 64 bits in two halves, and of the row.
__shared__ unsigned low_of[kBins], high_of[kBins], words_of[kBins];
__shared__ Mass row_mass[kBins];
__shared__ unsigned row_words[kBins];

struct Bins {
  float largest, scale;
  __device__ __forceinline__ int of(float score) const {
    return score == largest ? 0 : (int)fminf((largest - score) * scale, kBins - 1.0f);
  }
};
// They end with the least score, or where weights do.
__device__ __forceinline__ Bins bins_of(float largest, float least, float rate) {
  const float all = largest - least, weighty = __fdividef(28.0f, rate);
  return {largest, __fdividef(kBins - 1.0f, all < weighty ? all : weighty)};
}

// Shared memory adds 32 bits at a time: who makes the low half overflow carries.
__device__ __forceinline__ void add_to_bin(int bin, Mass weight) {
  const unsigned low = (unsigned)weight, before = atomicAdd(&low_of[bin], low);
  const unsigned high = (unsigned)(weight >> 32) + (before + low < low ? 1u : 0u);
  if (high > 0) atomicAdd(&high_of[bin], high);
  atomicAdd(&words_of[bin], 1u);
}
// The mass of this block's words, and that at temperature 1.
__device__ __forceinline__ Two fill_bins(const Words& words, const Bins& bins) {
  low_of[threadIdx.x] = high_of[threadIdx.x] = words_of[threadIdx.x] = 0;
  __syncthreads();
  Words plain = words;
  plain.rate = 1.0f;
  Two mass = {0, 0};
#pragma unroll 2
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const float score = words.score(i);
    const Mass weight = words.weight(score);
    mass.a += weight;
    mass.b += words.rate == 1.0f ? weight : plain.weight(score);
    if (weight > 0) add_to_bin(bins.of(score), weight);
  }
  return mass;
}

// Each block adds up its part of the bins, eight lanes a bin, and tells all others.
__device__ __forceinline__ void join_bins() {
  const int bin = block_of_row() * (kBins / kBlocks) + threadIdx.x / kBlocks, other = threadIdx.x % kBlocks;
  const Mass mass = (Mass)in_block(high_of, other)[bin] << 32 | in_block(low_of, other)[bin];
  const Two sum = of_lanes<true>({in_block(words_of, other)[bin], mass}, kBlocks);
  in_block(row_words, other)[bin] = (unsigned)sum.a;
  in_block(row_mass, other)[bin] = sum.b;
  row_sync();
}

// The sums of the threads before and of this one.
__device__ __forceinline__ Two upto_thread(Two mine) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const Two below = {__shfl_up_sync(0xFFFFFFFFu, mine.a, d), __shfl_up_sync(0xFFFFFFFFu, mine.b, d)};
    if (lane >= d) mine = combined<true>(mine, below);
  }
  if (lane == 31) warp_found[warp] = mine;
  __syncthreads();
  Two before = of_lanes<true>(lane < warp ? warp_found[lane] : Two{0, 0}, 32);
  __syncthreads();
  return combined<true>(mine, before);
}

