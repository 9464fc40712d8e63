#include "codegen/cuda/sample_text.h"

namespace smelt {

const std::string_view kSampleWeightText =
    R"(typedef unsigned long long Mass;
constexpr Mass kWholeWeight = 1ull << 40;

// exp(d) in units of 2^-40, in operations that IEEE 754 defines: the same number as on a CPU.
__device__ __forceinline__ Mass weight_of(float d) {
  if (!(d > -28.0f)) return 0;
  const float k = __fadd_rn(__fmaf_rn(d, 1.44269504f, 12582912.0f), -12582912.0f);
  const float r = __fmaf_rn(k, 2.12194440e-4f, __fmaf_rn(k, -0.693359375f, d));
  float p = __fmaf_rn(1.9875691500e-4f, r, 1.3981999507e-3f);
  p = __fmaf_rn(p, r, 8.3334519073e-3f);
  p = __fmaf_rn(p, r, 4.1665795894e-2f);
  p = __fmaf_rn(p, r, 1.6666665459e-1f);
  p = __fmaf_rn(p, r, 5.0000001201e-1f);
  p = __fadd_rn(__fmaf_rn(p, __fmul_rn(r, r), r), 1.0f);
  return (Mass)__fmul_rn(p, __uint_as_float((unsigned)((int)k + 127 + 40) << 23));
}

// The part of a mass that the 53 random bits of (seed, position, index) draw: Philox4x32-7.
__device__ __forceinline__ Mass drawn_part(Mass mass, unsigned seed, unsigned position, unsigned index) {
  unsigned c0 = position, c1 = 0, c2 = index, c3 = 0, k0 = seed, k1 = 0x53414D50u;
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const unsigned high2 = __umulhi(0xCD9E8D57u, c2), low2 = 0xCD9E8D57u * c2;
    c0 = high2 ^ c1 ^ k0, c1 = low2, c2 = high0 ^ c3 ^ k1, c3 = low0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  const Mass bits = ((Mass)c1 << 32 | c0) >> 11;
  return __umul64hi(mass, bits) << 11 | mass * bits >> 53;
}

// What top-p asks for, and the least that min-p keeps.
__device__ __forceinline__ Mass nucleus_mass(Mass mass, float top_p) {
  const Mass wanted = (Mass)ceil(__dmul_rn((double)mass, (double)(top_p > 0.0f ? top_p : 0.0f)));
  return wanted < 1 ? 1 : wanted < mass ? wanted : mass;
}
__device__ __forceinline__ Mass least_weight(float min_p) {
  return (Mass)ceil(__dmul_rn((double)(min_p < 1.0f ? min_p : 1.0f), 1099511627776.0));
}

)";

const std::string_view kSampleRowText =
    R"(constexpr int kThreads = 1024;
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

)";

const std::string_view kSampleBinsText =
    R"(constexpr int kBins = kThreads;
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

)";

}  // namespace smelt
