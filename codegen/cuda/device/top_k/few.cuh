// The kernel of top_k (the kK largest elements of each row, sorted) for kK <= 32. It reads each row once. A
// row is divided among kBlocks blocks, which form a cluster if there are several. Each block reads its part
// of the row piece by piece, and keeps the kK largest elements that it has read. The first block then
// merges the results of all blocks. An entry is an integer that contains an element's key and its index;
// larger elements have larger keys and larger entries (../rows/entry.cuh).
// Requires: kK, ../rows/*.cuh (kBlocks, block_of_row, row_sync, Entry) and put.cuh. The host's code
// replaces the word KERNEL by the kernel's name, and CLUSTER by its cluster attribute, or by nothing.

constexpr int kThreads = 1024, kEach = 16, kGroups = kThreads / 16, kListed = kThreads;
// A group is 16 adjacent threads. kEach: elements per thread in a piece. kListed: room in the list.
__shared__ unsigned largest_of[kGroups], bound;  // the largest key of each group in a piece; see bound_of
__shared__ Entry list[kListed], found[kK];       // candidates in any order; the largest so far, sorted
__shared__ int listed;                           // number of candidates, including those without room

// A thread's share of a piece. A piece is kThreads * kEach successive elements of the row, and a thread has
// kEach of them. keys: their keys, 0 for elements that do not exist. first: the index in the row of the
// first element of the piece. count: the index after the last element that the block processes.
struct Piece {
  unsigned keys[kEach];
  int first, count;
  // Return the index in the row, and the entry, of the thread's element e; the entry is 0 if it does not
  // exist.
  __device__ __forceinline__ int index(int e) const { return first + e * kThreads + (int)threadIdx.x; }
  __device__ __forceinline__ Entry entry(int e) const {
    return index(e) < count ? entry_of(keys[e], index(e)) : 0;
  }
};
// Loads the piece that begins at x[first]. All threads of the block call it, and each gets its share.
__device__ __forceinline__ Piece piece_of(const float* x, int first, int count) {
  Piece piece;
  piece.first = first, piece.count = count;
  float values[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) values[e] = piece.index(e) < count ? x[piece.index(e)] : 0.0f;
#pragma unroll
  for (int e = 0; e < kEach; ++e) piece.keys[e] = piece.index(e) < count ? key_of(values[e]) : 0u;
  return piece;
}

// Returns the kK-th largest of the groups' largest keys; 0 if fewer than kK groups have elements. At least
// kK elements of the piece have this key or a larger one, and usually not many more. All threads of the
// block call it.
__device__ __forceinline__ unsigned bound_of(const Piece& piece) {
  const int thread = (int)threadIdx.x;
  unsigned largest = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) largest = piece.keys[e] > largest ? piece.keys[e] : largest;
#pragma unroll
  for (int d = 8; d > 0; d /= 2) {
    const unsigned other = __shfl_xor_sync(0xFFFFFFFFu, largest, d);
    largest = other > largest ? other : largest;
  }
  if (thread % 16 == 0) largest_of[thread / 16] = largest;
  __syncthreads();
  if (thread < kGroups) {
    const unsigned mine = largest_of[thread];
    int before = 0;
#pragma unroll 16
    for (int g = 0; g < kGroups; ++g)
      before += largest_of[g] > mine || (largest_of[g] == mine && g < thread) ? 1 : 0;
    if (before == kK - 1) bound = mine;
  }
  __syncthreads();
  return bound;
}

// The first `before` entries of the list are kept. Appends all entries of the piece that are at least
// `least`, while the list has room. Returns `before` plus the number of these entries; a result above
// kListed means that the list is incomplete. All threads of the block call it.
__device__ __forceinline__ int list_from(const Piece& piece, Entry least, int before) {
  if (threadIdx.x == 0) listed = before;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const Entry entry = piece.entry(e);
    if (entry == 0 || entry < least) continue;
    const int at = atomicAdd(&listed, 1);
    if (at < kListed) list[at] = entry;
  }
  __syncthreads();
  const int all = listed;
  __syncthreads();
  return all;
}

// Called if list_from found more entries than the list has room for. Calls list_from again with a larger
// bound, and returns its result. Bisection finds a bound that at least kK entries of the piece reach, and
// for which the list has room. There are too many entries if many elements are equal, or if one group has
// many of the largest elements.
__device__ __forceinline__ int list_fewer(const Piece& piece, Entry least, int before) {
  Entry low = least, high = ~0ull;
  int all = kListed + 1;
  while (all > kListed || all < before + kK) {
    const Entry middle = low + (high - low) / 2;
    all = list_from(piece, middle, before);
    if (all < before + kK) high = middle;
    if (all > kListed) low = middle;
  }
  return all;
}

// Sets `found` to the kK largest of the `count` entries of the list, from the largest to the least; 0 if
// there are fewer. The index of an entry in `found` is the number of larger entries. All threads of the
// block call it.
__device__ __forceinline__ void sort_list(int count) {
  const int thread = (int)threadIdx.x;
  if (thread < kK) found[thread] = 0;
  __syncthreads();
  if (thread < count) {
    const Entry mine = list[thread];
    int before = 0;
#pragma unroll 8
    for (int i = 0; i < count; ++i) before += list[i] > mine ? 1 : 0;
    if (before < kK && mine > 0) found[before] = mine;
  }
  __syncthreads();
}

// Sets `found` to the kK largest entries of x[first], ..., x[end - 1]. All threads of the block call it.
__device__ __forceinline__ void find_largest(const float* x, int first, int end) {
  int kept = 0;  // number of entries in `found`
  for (int begin = first; begin < end; begin += kThreads * kEach) {
    const Piece piece = piece_of(x, begin, end);
    Entry least = (Entry)bound_of(piece) << 32;
    if (kept == kK && found[kK - 1] > least) least = found[kK - 1];
    if ((int)threadIdx.x < kept) list[threadIdx.x] = found[threadIdx.x];
    int all = list_from(piece, least, kept);
    if (all > kListed) all = list_fewer(piece, least, kept);
    sort_list(all);
    kept = all < kK ? all : kK;
  }
  if (kept == 0) sort_list(0);
}

extern "C" __global__ CLUSTER void __launch_bounds__(1024) KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // Each block finds the largest elements of its part of the row. The first block then finds those of the
  // row.
  const long long row = blockIdx.x / kBlocks;
  const float* const x = x_ + row * row_stride;
  const int count = (int)count_, part = (count + kBlocks - 1) / kBlocks, thread = (int)threadIdx.x;
  const int first = block_of_row() * part;
  find_largest(x, first, first + part < count ? first + part : count);
  if (kBlocks > 1) {
    row_sync();  // all blocks may now overwrite the list of the first block
    if (thread < kK) in_block(list, 0)[block_of_row() * kK + thread] = found[thread];
    row_sync();
    if (block_of_row() > 0) return;
    sort_list(kBlocks * kK);
  }
  if (thread < kK) put(x, found[thread], values + row * kK + thread, indices + row * kK + thread);
}
