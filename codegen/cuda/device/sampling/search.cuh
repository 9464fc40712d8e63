// The word at which a sum over the sorted words of a row is reached.
// Requires: list.cuh.

// The first word at which a sum over the row is reached, and the mass upto there.
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

