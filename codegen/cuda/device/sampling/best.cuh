// The draw of a token if top-k keeps few words (tokens of the vocabulary). They need no histogram (bins.cuh):
// the first block of the row lists and sorts them, and top-p, min-p and the draw are sums over that list. A
// word is listed if its weight is not 0 and its key (../rows/entry.cuh) is at least a bound. To find the
// bound, the words that one warp reads form a group, and the maximum of each group is computed. The bound is
// the k-th largest of these maxima, so at least k words have such a key.
// Requires: search.cuh.

// The words that a warp reads are a group. Words are listed if their key is at least the k-th largest of the
// maxima of the groups. At least k words have such a key. If k is at most kMostBest, the list is short.
constexpr int kWarps = kThreads / 32, kGroups = kWarps * kBlocks, kMostBest = kGroups / 2;
__shared__ Entry warp_largest[kWarps];              // the largest entry of each warp of this block
__shared__ unsigned group_key[kGroups], least_key;  // the key of the maximum of each group; the k-th largest
__shared__ Mass block_mass[kBlocks];  // in the first block: the mass of each block's words at temperature 1

// Returns the largest entry of a group: of warp group % kWarps of block group / kWarps.
__device__ __forceinline__ Entry largest_of(int group) {
  return in_block(warp_largest, group / kWarps)[group % kWarps];
}

// Returns the largest entry of the row, and sets group_key. of_warp: the largest entry of the calling warp.
// All threads of all blocks of the row call it.
__device__ __forceinline__ Entry largest_of_row(Entry of_warp) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) warp_largest[threadIdx.x / 32] = of_warp;
  row_sync();
  Two found = {0, 0};
#pragma unroll
  for (int i = threadIdx.x; i < kGroups; i += kThreads) group_key[i] = (unsigned)(largest_of(i) >> 32);
#pragma unroll
  for (int i = lane; i < kGroups; i += 32) found = combined<false>(found, {largest_of(i), 0});
  __syncthreads();
  return of_lanes<false>(found, 32).a;
}

// Returns the k-th largest of group_key to all threads of the block; 0 if fewer than k groups have words. For
// each group, kParts adjacent lanes count the groups with larger keys, or with equal keys and lower numbers.
__device__ __forceinline__ unsigned least_key_of(int k) {
  constexpr int kParts = kThreads / kGroups;
  const int group = threadIdx.x / kParts;
  const unsigned mine = group_key[group];
  if (threadIdx.x == 0) least_key = 0;  // overwritten by the group that has k - 1 groups before it
  __syncthreads();
  int before = 0;
#pragma unroll 16
  for (int i = threadIdx.x % kParts; i < kGroups; i += kParts)
    before += group_key[i] > mine || (group_key[i] == mine && i < group) ? 1 : 0;
#pragma unroll
  for (int d = kParts / 2; d > 0; d /= 2) before += __shfl_xor_sync(0xFFFFFFFFu, before, d);
  if (threadIdx.x % kParts == 0 && before == k - 1) least_key = mine;
  __syncthreads();
  return least_key;
}

// Puts a word into the list of the first block if there is room, and returns whether there was.
__device__ __forceinline__ bool put_best(Entry word) {
  const unsigned at = atomicAdd(in_block(&listed, 0), 1u);
  if (at < kListed) in_block(list, 0)[at] = word;
  return at < kListed;
}

// Puts the words that have a weight and a key of at least `least` into the list of the first block. Returns
// their number; if it exceeds kListed, the list is incomplete. Also adds up the weights of all words of this
// block at temperature 1, in block_mass. All threads of all blocks of the row call it.
__device__ __forceinline__ unsigned list_best(const Words& words, unsigned least) {
  Words plain = words;
  plain.rate = 1.0f;
  Two mass = {0, 0};
  bool has_room = true;
#pragma unroll 4
  for (int i = threadIdx.x; i < words.count; i += kThreads) {
    const float score = words.score(i);
    mass.a += plain.weight(score);
    const unsigned key = key_of(score);
    if (key >= least && has_room && words.weight(score) > 0) has_room = put_best(entry_of(key, words.first + i));
  }
  mass = of_lanes<true>(mass, 32);
  if (threadIdx.x % 32 == 0) warp_found[threadIdx.x / 32] = mass;
  __syncthreads();
  if (threadIdx.x < 32) mass = of_lanes<true>(threadIdx.x < kWarps ? warp_found[threadIdx.x] : Two{0, 0}, 32);
  if (threadIdx.x == 0) in_block(block_mass, 0)[block_of_row()] = mass.a;
  row_sync();
  return *in_block(&listed, 0);
}

// Returns the mass of the row at temperature 1. A thread of the first block calls it after list_best.
__device__ __forceinline__ Mass whole_mass() {
  Mass mass = 0;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) mass += block_mass[block];
  return mass;
}

// Sorts a list of at most kFewListed words, from the largest entry down: the position of a word is the number
// of larger ones. For so short a list this is faster than sort_list. All threads of the block call it.
constexpr unsigned kFewListed = kThreads / 4;
__device__ __forceinline__ void rank_list(unsigned count) {
  __syncthreads();
  const Entry mine = threadIdx.x < count ? list[threadIdx.x] : 0;
  unsigned before = 0;
  if (threadIdx.x < count)
#pragma unroll 8
    for (unsigned i = 0; i < count; ++i) before += list[i] > mine ? 1 : 0;
  __syncthreads();
  if (threadIdx.x < count) list[before] = mine;
  __syncthreads();
}

// Returns the entry of the drawn word. The list has `count` words, in any order: the best s.top_k ones and a
// few more. All threads of the first block call it. mass: of the words that top-k and then top-p keep;
// likely: of the words that min-p keeps. Both are the first words of the list, so the smaller mass is that of
// the draw.
__device__ __forceinline__ Entry drawn_of_best(const Words& words, const Settings& s, unsigned count) {
  Listed here;
  here.count = count;
  if (count <= kFewListed) {
    rank_list(count);
  } else {
    sort_list(count);
  }
  const Mass first = listed_weight(words, 2 * threadIdx.x, count),
             second = listed_weight(words, 2 * threadIdx.x + 1, count);
  here.upto = upto_thread({0, first + second});
  reach_last(here, second, [](Entry) { return true; });
  Mass mass = found_by_all().mass, likely = mass;
  if ((unsigned)s.top_k < count) {
    reach_count(here, second, (Mass)s.top_k);
    mass = found_by_all().mass;
  }
  if (s.top_p < 1.0f) {
    reach_mass(here, second, first, nucleus_mass(mass, s.top_p));
    mass = found_by_all().mass;
  }
  if (s.min_p > 0.0f) {
    const Mass least = least_weight(s.min_p);
    reach_last(here, second, [&](Entry word) { return words.weight(score_of(word)) >= least; });
    likely = found_by_all().mass;
  }
  const Mass all = likely < mass ? likely : mass;
  reach_mass(here, second, first, drawn_part(all, s.seed, s.position, s.index) + 1);
  return found_by_all().word;
}

