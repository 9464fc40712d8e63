// A histogram of the words of a row. A word is a token of the vocabulary, and its weight is its unnormalized
// probability. The scores are divided into kBins intervals, the bins; bin 0 has the largest scores. The
// histogram has, for each bin, the number of its words and the sum of their weights, which is called mass.
// Words of weight 0 are in no bin.
// Requires: row.cuh.

constexpr int kBins = kThreads;  // thread i scans bin i
// Sums over the words of this block, for each bin: low_of and high_of are the low and the high 32 bits of
// the mass, and words_of is the number of words.
__shared__ unsigned low_of[kBins], high_of[kBins], words_of[kBins];
// The mass and the number of words of each bin, over all blocks of the row. join_bins sets them.
__shared__ Mass row_mass[kBins];
__shared__ unsigned row_words[kBins];

// The map from scores to bins. largest: the largest score of the row. scale: bins per unit of score.
struct Bins {
  float largest, scale;
  // Returns the bin of a score.
  __device__ __forceinline__ int of(float score) const {
    return score == largest ? 0 : (int)fminf((largest - score) * scale, kBins - 1.0f);
  }
};
// Returns bins from the largest score of the row down to the least score, or down to largest - 28 / rate if
// that is larger, because words below have weight 0. rate: 1 / temperature.
__device__ __forceinline__ Bins bins_of(float largest, float least, float rate) {
  const float all = largest - least, weighty = __fdividef(28.0f, rate);
  return {largest, __fdividef(kBins - 1.0f, all < weighty ? all : weighty)};
}

// Adds one word with its weight to a bin of this block. Atomic additions in shared memory have 32 bits, so
// both halves of the weight are added separately. The thread whose addition makes the low half overflow adds
// 1 to the high half.
__device__ __forceinline__ void add_to_bin(int bin, Mass weight) {
  const unsigned low = (unsigned)weight, before = atomicAdd(&low_of[bin], low);
  const unsigned high = (unsigned)(weight >> 32) + (before + low < low ? 1u : 0u);
  if (high > 0) atomicAdd(&high_of[bin], high);
  atomicAdd(&words_of[bin], 1u);
}
// Fills the bins of this block. Returns two masses of the words of this thread: at the row's temperature
// (a), and at temperature 1 (b). All threads of the block call it. The caller must call row_sync before
// join_bins.
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

// Adds up the bins of all blocks of the row, and stores the sums in row_words and row_mass of every block.
// Each block adds up kBins / kBlocks of the bins, with kBlocks lanes per bin: each lane reads the bin of one
// block, and writes the sum to that block. All threads of all blocks of the row call it.
__device__ __forceinline__ void join_bins() {
  const int bin = block_of_row() * (kBins / kBlocks) + threadIdx.x / kBlocks, other = threadIdx.x % kBlocks;
  const Mass mass = (Mass)in_block(high_of, other)[bin] << 32 | in_block(low_of, other)[bin];
  const Two sum = of_lanes<true>({in_block(words_of, other)[bin], mass}, kBlocks);
  in_block(row_words, other)[bin] = (unsigned)sum.a;
  in_block(row_mass, other)[bin] = sum.b;
  row_sync();
}

// Returns the sums of `mine` over the threads from 0 to the calling one (inclusive scan). All threads of the
// block call it.
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

