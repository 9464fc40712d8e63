// The draw of a token if top-k keeps few words. A word is a token of the vocabulary, its weight is its
// unnormalized probability, and a mass is a sum of weights. kBlocks thread blocks process a row of scores.
// The first of these blocks lists the best words and sorts the list. For top-p, min-p and the draw, it then
// adds up the weights of the first words of the list.
// A word is listed if its weight is not 0 and its key (../rows/entry.cuh, larger for larger scores) is at
// least a bound. The words that one warp reads are a group, and each group has a largest key. Let k be the
// number of words that top-k keeps. The bound is the k-th largest of the groups' largest keys, so at least k
// words reach it.
// Requires: search.cuh.

// kMostBest: the largest k for which this method is used. For a larger k, the list could be long.
constexpr int kWarps = kThreads / 32, kGroups = kWarps * kBlocks, kMostBest = kGroups / 2;
__shared__ Entry warp_largest[kWarps];              // the largest entry of each warp of this block
__shared__ unsigned group_key[kGroups], least_key;  // the largest key of each group; the bound
__shared__ Mass block_mass[kBlocks];  // in the first block: mass of each block, at temperature 1

// Returns the largest entry of group number `group`: the words of warp group % kWarps in block group /
// kWarps.
__device__ __forceinline__ Entry largest_of(int group) {
  return in_block(warp_largest, group / kWarps)[group % kWarps];
}

// Returns the largest entry of the row, and writes group_key. of_warp: the largest entry of the calling
// warp. All threads of all blocks of the row call it.
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

// Returns the k-th largest of group_key, or 0 if fewer than k groups have words. All threads of the block
// call it. For each group, kParts adjacent lanes together count the groups that come before it: those with
// larger keys, and those with equal keys and lower numbers.
__device__ __forceinline__ unsigned least_key_of(int k) {
  constexpr int kParts = kThreads / kGroups;
  const int group = threadIdx.x / kParts;
  const unsigned mine = group_key[group];
  if (threadIdx.x == 0) least_key = 0;  // a group overwrites it if k - 1 groups come before this group
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

// Appends a word to the list of the first block if there is room, and returns whether there was room.
__device__ __forceinline__ bool put_best(Entry word) {
  const unsigned at = atomicAdd(in_block(&listed, 0), 1u);
  if (at < kListed) in_block(list, 0)[at] = word;
  return at < kListed;
}

// Appends each word whose weight is not 0 and whose key is at least `least` to the list of the first block.
// Returns the number of words in the list; if it exceeds kListed, some words had no room. Also computes
// block_mass: the mass of all words of this block at temperature 1. All threads of all blocks of the row
// call it.
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

// Returns the mass of all words of the row at temperature 1. A thread of the first block calls it after
// list_best.
__device__ __forceinline__ Mass whole_mass() {
  Mass mass = 0;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) mass += block_mass[block];
  return mass;
}

// Sorts a list of at most kFewListed words, from the largest entry to the least one. The new index of an
// entry is the number of larger entries. For a short list, this is faster than sort_list. All threads of
// the block call it.
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

// Returns the entry of the drawn word. All threads of the first block call it. The list has `count` words,
// in any order: the s.top_k best words of the row (fewer if weights are 0), and possibly some more.
// In the code, `mass` is the mass of the words that top-k and top-p keep, and `likely` is the mass of the
// words that min-p keeps. The kept words are always the first words of the sorted list. So the words that
// all three limits keep have the smaller of the two masses.
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

