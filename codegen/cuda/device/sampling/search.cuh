// Search for the word at which a sum over the words of a row, in the order of descending scores, reaches a
// target. A word is a token of the vocabulary. Its entry is an integer that contains its score, in the high
// 32 bits, and its index; a larger score gives a larger entry. The sum is the number of the words (for
// top-k), or their mass, the sum of their weights (for top-p and the draw). A bin is an interval of scores
// (bins.cuh). The list has the sorted words of one or more bins (list.cuh).
// Requires: list.cuh.

// The word at which the sum reaches the target, and the mass of all words up to and including it.
struct Reached {
  Entry word;
  Mass mass;
};
__shared__ Reached reached;  // the result of a search in the list; one thread writes it
// bin_reached: the bin in which the sum reaches the target. bin_before: the number (a) and the mass (b) of
// the words in all bins before that bin. bin_upto: number and mass of these words and of the words in that
// bin.
__shared__ Two bin_before, bin_upto;
__shared__ int bin_reached;

// Returns the bin in which the sum over the words reaches `target`, and sets the three variables above.
// by_mass: the sum is the mass; otherwise it is the number of words. upto: the number (a) and the mass (b)
// of the words in bins 0 to threadIdx.x. All threads of the block call it.
__device__ __forceinline__ int find_bin(const Two& upto, bool by_mass, Mass target) {
  const Two before = {upto.a - row_words[threadIdx.x], upto.b - row_mass[threadIdx.x]};
  const Mass low = by_mass ? before.b : before.a, high = by_mass ? upto.b : upto.a;
  if (low < target && target <= high) bin_reached = (int)threadIdx.x, bin_before = before, bin_upto = upto;
  __syncthreads();
  return bin_reached;
}

// Lists and sorts the words of bin `bin`, unless the list has them already. If there is room, the words of
// all bins before it are listed too. All threads of all blocks of the row call it. Requires: find_bin
// returned `bin`, and the bin has at most kListed words.
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

// Returns the result of `reach` (below) if the bin has more words than a list can have. Finds by bisection
// the largest entry e such that the sum over all words with entries >= e reaches the target.
// largest: the largest entry of the row. turn: argument of of_row (row.cuh).
__device__ __forceinline__ Reached search(const Words& words, Entry largest, bool by_mass, Mass target, int& turn) {
  // For the number of words, only scores are compared, because top-k keeps all words with the last score.
  const int shift = by_mass ? 0 : 32;
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

// The next three functions search in the list. All threads of the block call them, and the thread that finds
// the result writes `reached`. A thread examines words 2 * threadIdx.x and 2 * threadIdx.x + 1 of the list.
// `first` and `second` are the weights of these two words.

// Finds the listed word at which the mass of all words up to it reaches `target`.
__device__ __forceinline__ void reach_mass(const Listed& here, Mass second, Mass first, Mass target) {
  const int i = 2 * threadIdx.x;
  const Mass middle = here.upto.b - second, before = middle - first;
  if (before < target && target <= middle) reached = {list[i], middle};
  if (middle < target && target <= here.upto.b) reached = {list[i + 1], here.upto.b};
}

// Finds the mass of all words up to the last listed word for which kept(entry) is true. The words for which
// it is true must be the first ones of the list. The word of the result is 0.
template <class Kept>
__device__ __forceinline__ void reach_last(const Listed& here, Mass second, Kept kept) {
  const int i = 2 * threadIdx.x;
  const auto is_kept = [&](int word) { return word < (int)here.count && kept(list[word]); };
  if (is_kept(i) && !is_kept(i + 2)) reached = {0, is_kept(i + 1) ? here.upto.b : here.upto.b - second};
}

// Finds the mass of the `count` words with the largest entries of the row, and of all words whose scores
// equal the least score of these. The word of the result is 0.
__device__ __forceinline__ void reach_count(const Listed& here, Mass second, Mass count) {
  const Entry least = list[(int)(count - 1 - here.before.a)] >> 32 << 32;
  reach_last(here, second, [&](Entry word) { return word >= least; });
}

// Returns `reached` to all threads of the block, after one of them has written it.
__device__ __forceinline__ Reached found_by_all() {
  __syncthreads();
  const Reached found = reached;
  __syncthreads();
  return found;
}

// Returns the word at which the sum over the words reaches `target`, and the mass of all words up to it.
// by_mass: the sum is the mass; otherwise it is the number of words. For the number, only the mass of the
// result is valid, and it includes all words with the same score as the word reached. upto: as for find_bin.
// largest: the largest entry of the row. here: describes the list. turn: as for of_row (row.cuh). All
// threads of all blocks of the row call it.
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

