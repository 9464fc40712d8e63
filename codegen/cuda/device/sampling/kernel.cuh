// The kernel that draws a token for each row of scores; runtime/plan/steps/sample.h describes its
// arguments. A word is a token of the vocabulary, its weight is its unnormalized probability, and a mass is
// a sum of weights. kBlocks blocks of kThreads threads process a row: a cluster, or one block. This is the
// last file of the kernel's text.
// Requires: best.cuh. The host code replaces the text KERNEL by the kernel's name, and the text CLUSTER by
// the kernel's cluster attribute or by nothing.

// Returns the number of words of the row whose weight is not 0. upto.a: the number of words in bins 0 to
// threadIdx.x. All threads of the block call it.
__device__ __forceinline__ unsigned words_of_row(const Two& upto) {
  if (threadIdx.x == kThreads - 1) bin_upto = upto;
  __syncthreads();
  const unsigned all = (unsigned)bin_upto.a;
  __syncthreads();
  return all;
}

// Returns the entry of the drawn word (one integer with its score and its index, entry.cuh), by searches in a
// histogram (bins.cuh). largest: the largest entry of the row; mass: the mass of the row; ever: the value of
// `listed` (list.cuh), the number of words that were listed so far; turn: as for of_row (row.cuh). All
// threads of all blocks of the row call it, after fill_bins and row_sync.
// In the code, `likely` is the mass of the words that min-p keeps. top-k, top-p and min-p each keep the
// best words. So the words that two of them keep have the smaller of the two masses.
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
  for (int cut = 0; cut < 3; ++cut) {  // 0: top-k, 1: top-p, 2: min-p and the draw
    Mass target = (Mass)s.top_k;
    if (cut == 0 && (s.top_k < 1 || (unsigned)s.top_k >= all)) continue;
    if (cut == 1 && !(s.top_p < 1.0f)) continue;
    if (cut == 1) target = nucleus_mass(found.mass, s.top_p);
    if (cut == 2) target = drawn_part(likely < found.mass ? likely : found.mass, s.seed, s.position, s.index) + 1;
    found = reach(words, bins, upto, largest, cut > 0, target, here, turn);
  }
  return found.word;
}

extern "C" __global__ CLUSTER void __launch_bounds__(1024) KERNEL(const float* scores, const float* numbers_, const int* integers_, int* tokens, float* log_probabilities,
       long long count_, long long row_stride, long long numbers_stride, long long integers_stride) {
  // If top-k keeps few words, the first block sorts them and draws one (best.cuh). Otherwise all words are
  // counted in the bins of a histogram, and each limit is searched in one bin (search.cuh). Weights are
  // integers, so the order of additions does not change a sum, and a CPU draws the same tokens.
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
  // is_none: no token can be drawn, because a score is NaN or all scores are -inf.
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
  row_sync();  // this block must not end while other blocks read its shared memory
  if (block_of_row() > 0 || threadIdx.x > 0) return;
  const double distance = (double)score_of(word) - (double)words.largest;
  tokens[row] = is_none ? -1 : index_of(word);
  log_probabilities[row] = is_none ? __uint_as_float(0x7FC00000u)
                                   : (float)((word >> 32 == largest >> 32 ? 0.0 : distance) -
                                             log(__dmul_rn((double)whole, 1.0 / 1099511627776.0)));
}
