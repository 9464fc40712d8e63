#include "codegen/cuda/sample_text.h"

namespace smelt {

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

// The bin in which the sum of words, or of mass, is `target`; `upto`: this thread's bin and those before.
__device__ __forceinline__ int find_bin(const Two& upto, bool by_mass, Mass target) {
  const Two before = {upto.a - row_words[threadIdx.x], upto.b - row_mass[threadIdx.x]};
  const Mass low = by_mass ? before.b : before.a, high = by_mass ? upto.b : upto.a;
  if (low < target && target <= high) bin_reached = (int)threadIdx.x, bin_before = before, bin_upto = upto;
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
__device__ __forceinline__ Reached search(const Words& words, Entry largest, bool by_mass, Mass target, int& turn) {
  const int shift = by_mass ? 0 : 32;  // words that score alike are together among the best
  Entry low = 0, high = (largest >> shift) + 1;
  Mass mass = 0;
  while (high - low > 1) {
    const Entry middle = low + (high - low) / 2;
    const Two sums = of_row<true>(words_from(words, middle << shift, 0), turn);
    if ((by_mass ? sums.b : sums.a) >= target) {
      low = middle, mass = sums.b;
    } else {
      high = middle;
    }
  }
  return {low << shift, mass};
}

// The listed word at which the mass is reached, by the thread that has it.
__device__ __forceinline__ void reach_mass(const Listed& here, Mass second, Mass first, Mass target) {
  const int i = 2 * threadIdx.x;
  const Mass middle = here.upto.b - second, before = middle - first;
  if (before < target && target <= middle) reached = {list[i], middle};
  if (middle < target && target <= here.upto.b) reached = {list[i + 1], here.upto.b};
}

// The mass of the first listed words, those that are `kept`.
template <class Kept>
__device__ __forceinline__ void reach_last(const Listed& here, Mass second, Kept kept) {
  const int i = 2 * threadIdx.x;
  const auto is_kept = [&](int word) { return word < (int)here.count && kept(list[word]); };
  if (is_kept(i) && !is_kept(i + 2)) reached = {0, is_kept(i + 1) ? here.upto.b : here.upto.b - second};
}

// The mass of the best `count` words, and of those that score as the last of them.
__device__ __forceinline__ void reach_count(const Listed& here, Mass second, Mass count) {
  const Entry least = list[(int)(count - 1 - here.before.a)] >> 32 << 32;
  reach_last(here, second, [&](Entry word) { return word >= least; });
}

// What a thread of the block has reached.
__device__ __forceinline__ Reached found_by_all() {
  __syncthreads();
  const Reached found = reached;
  __syncthreads();
  return found;
}

__device__ __forceinline__ Reached reach(const Words& words, const Bins& bins, const Two& upto, Entry largest,
                                         bool by_mass, Mass target, Listed& here, int& turn) {
  const int bin = find_bin(upto, by_mass, target);
  if (row_words[bin] > kListed) return search(words, largest, by_mass, target, turn);
  list_bin(words, bins, bin, here);
  const Mass second = listed_weight(words, 2 * threadIdx.x + 1, here.count);
  if (by_mass) {
    reach_mass(here, second, listed_weight(words, 2 * threadIdx.x, here.count), target);
  } else {
    reach_count(here, second, target);
  }
  return found_by_all();
}

)";

const std::string_view kSampleKernelText =
    R"(// How many have a weight.
__device__ __forceinline__ unsigned words_of_row(const Two& upto) {
  if (threadIdx.x == kThreads - 1) bin_upto = upto;
  __syncthreads();
  const unsigned all = (unsigned)bin_upto.a;
  __syncthreads();
  return all;
}

// The word that is drawn, of those whose bins are filled and whose mass is known.
__device__ __forceinline__ Entry drawn(const Words& words, const Bins& bins, const Settings& s, Entry largest, Mass mass,
                                       unsigned ever, int& turn) {
  join_bins();
  const Two upto = upto_thread({row_words[threadIdx.x], row_mass[threadIdx.x]});
  const unsigned all = words_of_row(upto);
  const Mass likely =
      s.min_p > 0.0f ? of_row<true>(words_from(words, 0, least_weight(s.min_p)), turn).b : mass;
  Listed here;
  here.ever = ever;
  Reached found = {0, mass};
#pragma unroll 1
  for (int cut = 0; cut < 3; ++cut) {  // top-k, top-p, and min-p with the draw
    Mass target = (Mass)s.top_k;
    if (cut == 0 && (s.top_k < 1 || (unsigned)s.top_k >= all)) continue;
    if (cut == 1 && !(s.top_p < 1.0f)) continue;
    if (cut == 1) target = nucleus_mass(found.mass, s.top_p);
    if (cut == 2) target = drawn_part(likely < found.mass ? likely : found.mass, s.seed, s.position, s.index) + 1;
    found = reach(words, bins, upto, largest, cut > 0, target, here, turn);
  }
  return found.word;
}

KERNEL(const float* scores, const float* numbers_, const int* integers_, int* tokens, float* log_probabilities,
       long long count_, long long row_stride, long long numbers_stride, long long integers_stride) {
  // Weights are integers, so that no sum depends on the order of anything. Of few best words the first block makes a
  // sorted list, in which a sum is reached at one of them; of more, it is reached in one bin of scores first.
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
  const Two ends = read_words(words);
  const Entry largest = largest_of_row(of_lanes<false>(ends, 32).a);
  const bool is_none = largest == ~0ull || (unsigned)(largest >> 32) <= kLowestKey;
  Entry word = largest;
  Mass whole = 0;
  if (!is_none) {
    words.largest = score_of(largest);
    const bool greedy = !(s.temperature > 0.0f);
    if (!greedy) words.rate = __fdiv_rn(1.0f, s.temperature);
    bool few = greedy || (s.top_k > 0 && s.top_k <= kMostBest);
    if (few) {
      const unsigned count = list_best(words, greedy ? ~0u : least_key_of(s.top_k));
      few = count <= kListed;
      if (few && block_of_row() == 0) {
        whole = whole_mass();
        if (!greedy) word = drawn_of_best(words, s, count);
      }
    }
    if (!few) {
      const unsigned ever = *in_block(&listed, 0);
      const Entry least = of_row<false>({0, ends.b}, turn).b;
      const Bins bins = bins_of(words.largest, score_of((Entry)~(unsigned)least << 32), words.rate);
      const Two mass = of_row<true>(fill_bins(words, bins), turn);
      whole = mass.b;
      word = drawn(words, bins, s, largest, mass.a, ever, turn);
    }
  }
  row_sync();  // others may still read what is here
  if (block_of_row() > 0 || threadIdx.x > 0) return;
  const double distance = (double)score_of(word) - (double)words.largest;
  tokens[row] = is_none ? -1 : index_of(word);
  log_probabilities[row] = is_none ? __uint_as_float(0x7FC00000u)
                                   : (float)((word >> 32 == largest >> 32 ? 0.0 : distance) -
                                             log(__dmul_rn((double)whole, 1.0 / 1099511627776.0)));
}
)";

}  // namespace smelt
