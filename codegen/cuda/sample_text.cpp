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
#pragma unroll 8
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

const std::string_view kSampleListText =
    R"(constexpr int kListed = 2 * kThreads;
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
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const float score = words.score(i);
    if (words.weight(score) == 0) continue;
    const int bin = bins.of(score);
    if (bin < here.first || bin >= here.end) continue;
    const unsigned at = atomicAdd(in_block(&listed, 0), 1u) - here.ever;
    for (int block = 0; block < kBlocks; ++block) in_block(list, block)[at] = words.entry(i);
  }
  here.ever += here.count;
  row_sync();
}

__device__ __forceinline__ void sort_list(unsigned count) {
  unsigned all = 2;
  while (all < count) all *= 2;
  for (unsigned i = count + threadIdx.x; i < all; i += kThreads) list[i] = 0;
  for (unsigned size = 2; size <= all; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned i = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      if (i >= all) continue;
      const Entry a = list[i], b = list[i + stride];
      if ((a < b) == ((i & size) == 0)) list[i] = b, list[i + stride] = a;
    }
  __syncthreads();
}

)";

const std::string_view kSampleSearchText =
    R"(// The first word at which a sum over the row is reached, and the mass upto there.
struct Reached {
  Entry word;
  Mass mass;
};
__shared__ Reached reached;
__shared__ Two bin_before, bin_upto;
__shared__ int bin_reached;

// The bin in which the sum of words (or of mass) is `target`; `upto`: this thread's bin and those before.
template <bool kOfMass>
__device__ __forceinline__ int find_bin(const Two& upto, Mass target) {
  const Two before = {upto.a - row_words[threadIdx.x], upto.b - row_mass[threadIdx.x]};
  if (kOfMass ? before.b < target && target <= upto.b : before.a < target && target <= upto.a)
    bin_reached = (int)threadIdx.x, bin_before = before, bin_upto = upto;
  __syncthreads();
  return bin_reached;
}

// Lists the words of a bin, with all before it where there is room.
__device__ __forceinline__ void list_bin(const Words& words, const Bins& bins, int bin, Listed& here) {
  if (bin >= here.first && bin < here.end) return;
  const bool all = bin_upto.a <= kListed;
  here.first = all ? 0 : bin, here.end = bin + 1;
  here.before = all ? Two{0, 0} : bin_before;
  here.count = (unsigned)(bin_upto.a - here.before.a);
  gather_words(words, bins, here);
  sort_list(here.count);
  const int i = 2 * threadIdx.x;
  here.upto = upto_thread({0, listed_weight(words, i, here.count) + listed_weight(words, i + 1, here.count)});
  here.upto.b += here.before.b;
}

// Where there are too many words for a list: halves the values at which the sum may be reached.
template <bool kOfMass>
__device__ __forceinline__ Reached search(const Words& words, Entry largest, Mass target, int& turn) {
  constexpr int kShift = kOfMass ? 0 : 32;  // words that score alike are together among the best
  Entry low = 0, high = (largest >> kShift) + 1;
  Mass mass = 0;
  while (high - low > 1) {
    const Entry middle = low + (high - low) / 2;
    const Two sums = of_row<true>(words_from(words, middle << kShift, 0), turn);
    if ((kOfMass ? sums.b : sums.a) >= target) {
      low = middle, mass = sums.b;
    } else {
      high = middle;
    }
  }
  return {low << kShift, mass};
}

// The word at which the mass is reached.
__device__ __forceinline__ Reached at_mass(const Words& words, const Bins& bins, const Two& upto, Entry largest,
                                           Mass target, Listed& here, int& turn) {
  const int bin = find_bin<true>(upto, target);
  if (row_words[bin] > kListed) return search<true>(words, largest, target, turn);
  list_bin(words, bins, bin, here);
  const int i = 2 * threadIdx.x;
  const Mass second = listed_weight(words, i + 1, here.count), middle = here.upto.b - second;
  const Mass before = middle - listed_weight(words, i, here.count);
  if (before < target && target <= middle) reached = {list[i], middle};
  if (middle < target && target <= here.upto.b) reached = {list[i + 1], here.upto.b};
  __syncthreads();
  const Reached found = reached;
  __syncthreads();
  return found;
}

// The mass of the best `count` words, and of those that score as the last of them.
__device__ __forceinline__ Mass of_best(const Words& words, const Bins& bins, const Two& upto, Entry largest,
                                        unsigned count, Listed& here, int& turn) {
  const int bin = find_bin<false>(upto, count);
  if (row_words[bin] > kListed) return search<false>(words, largest, count, turn).mass;
  list_bin(words, bins, bin, here);
  const Entry least = list[count - 1 - (unsigned)here.before.a] >> 32 << 32;
  const int i = 2 * threadIdx.x;
  const bool first = i < (int)here.count && list[i] >= least;
  const bool second = i + 1 < (int)here.count && list[i + 1] >= least;
  const bool third = i + 2 < (int)here.count && list[i + 2] >= least;
  if (first && !third)
    reached.mass = second ? here.upto.b : here.upto.b - listed_weight(words, i + 1, here.count);
  __syncthreads();
  const Mass found = reached.mass;
  __syncthreads();
  return found;
}

)";

const std::string_view kSampleKernelText =
    R"(struct Settings {
  float temperature, top_p, min_p;
  int top_k;
  unsigned seed, position, index;
};

// How many have a weight.
__device__ __forceinline__ unsigned words_of_row(const Two& upto) {
  if (threadIdx.x == kThreads - 1) bin_upto = upto;
  __syncthreads();
  const unsigned all = (unsigned)bin_upto.a;
  __syncthreads();
  return all;
}

// The token that is drawn, of words whose bins are filled and whose mass is known.
__device__ __forceinline__ int drawn(const Words& words, const Bins& bins, const Settings& s, Entry largest, Mass mass,
                                     int& turn) {
  join_bins();
  const Two upto = upto_thread({row_words[threadIdx.x], row_mass[threadIdx.x]});
  const unsigned all = words_of_row(upto);
  Listed here;
  if (s.top_k > 0 && (unsigned)s.top_k < all)
    mass = of_best(words, bins, upto, largest, (unsigned)s.top_k, here, turn);
  if (s.top_p < 1.0f)
    mass = at_mass(words, bins, upto, largest, nucleus_mass(mass, s.top_p), here, turn).mass;
  if (s.min_p > 0.0f) {
    const Mass likely = of_row<true>(words_from(words, 0, least_weight(s.min_p)), turn).b;
    mass = likely < mass ? likely : mass;
  }
  const Mass target = drawn_part(mass, s.seed, s.position, s.index) + 1;
  return index_of(at_mass(words, bins, upto, largest, target, here, turn).word);
}

KERNEL(const float* scores, const float* numbers_, const int* integers_, int* tokens, float* log_probabilities,
       long long count_, long long row_stride, long long numbers_stride, long long integers_stride) {
  // Weights are integers, so that no sum depends on the order of anything. A sum is reached in one bin of scores,
  // and there at one word of a sorted list.
  const long long row = blockIdx.x / kBlocks;
  const float* const numbers = numbers_ + row * numbers_stride;
  const int* const integers = integers_ + row * integers_stride;
  const Settings s = {numbers[0], numbers[1], numbers[2], integers[0], (unsigned)integers[1], (unsigned)integers[2],
                      (unsigned)integers[3]};
  const int count = (int)count_, part = (count + kBlocks - 1) / kBlocks, first = block_of_row() * part;
  Words words = {scores + row * row_stride + first, first, 0, 0.0f, 1.0f};
  words.count = count - first < part ? count - first : part;
  if (threadIdx.x == 0) listed = 0;
  int turn = 0;
  const Two ends = of_row<false>(read_words(words), turn);
  const bool is_none = ends.a == ~0ull || (unsigned)(ends.a >> 32) <= kLowestKey;
  int token = is_none ? -1 : index_of(ends.a);
  Mass whole = 0;
  if (!is_none) {
    const bool greedy = !(s.temperature > 0.0f);
    words.largest = score_of(ends.a);
    if (!greedy) words.rate = __fdiv_rn(1.0f, s.temperature);
    const Bins bins = bins_of(words.largest, score_of((Entry)~(unsigned)ends.b << 32), words.rate);
    const Two mass = of_row<true>(greedy ? words_from(words, 0, 0) : fill_bins(words, bins), turn);
    whole = mass.b;
    if (!greedy) token = drawn(words, bins, s, ends.a, mass.a, turn);
  }
  row_sync();  // others may still read what is here
  if (block_of_row() > 0 || threadIdx.x > 0) return;
  const float score = token < 0 ? 0.0f : scores[row * row_stride + token];
  const double distance = score == words.largest ? 0.0 : (double)score - (double)words.largest;
  tokens[row] = token;
  log_probabilities[row] = token < 0 ? __uint_as_float(0x7FC00000u)
                                     : (float)(distance - log(__dmul_rn((double)whole, 1.0 / 1099511627776.0)));
}
)";

}  // namespace smelt
