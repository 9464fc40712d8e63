// The draw from few best words, which need no bins: the first block lists them.
// Requires: search.cuh.

// The words of a warp are a group: the k-th largest of the groups' maxima has at least k words that score as
// much, and not many more. It is so where k is at most half of the groups.
constexpr int kWarps = kThreads / 32, kGroups = kWarps * kBlocks, kMostBest = kGroups / 2;
__shared__ Entry warp_largest[kWarps];
__shared__ unsigned group_key[kGroups], least_key;
__shared__ Mass block_mass[kBlocks];  // in the first block

__device__ __forceinline__ Entry largest_of(int group) {
  return in_block(warp_largest, group / kWarps)[group % kWarps];
}

// The largest of the row, of those of all warps.
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

// The key of the k-th largest group. A few threads count for each how many come before it.
__device__ __forceinline__ unsigned least_key_of(int k) {
  constexpr int kParts = kThreads / kGroups;
  const int group = threadIdx.x / kParts;
  const unsigned mine = group_key[group];
  if (threadIdx.x == 0) least_key = 0;  // of rows that have words in fewer groups
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

// Puts a word into the first block's list, as far as there is room; whether there may be more.
__device__ __forceinline__ bool put_best(Entry word) {
  const unsigned at = atomicAdd(in_block(&listed, 0), 1u);
  if (at < kListed) in_block(list, 0)[at] = word;
  return at < kListed;
}

// Lists the words with a weight whose keys are not below `least`, and adds up what all words weigh at temperature 1.
// How many are listed; there may be too many.
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

// Of all blocks, in the first one.
__device__ __forceinline__ Mass whole_mass() {
  Mass mass = 0;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) mass += block_mass[block];
  return mass;
}

// Sorts so few that a word's place is soon counted.
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

// The word that is drawn of the best ones, by the first block, whose list has them.
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

