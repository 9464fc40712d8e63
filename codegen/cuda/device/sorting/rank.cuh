// The kernel that sorts few row indices: it computes the rank of each index by comparing it with all others.
// Requires: nothing.

// Sets permutation[rank] to the position of the index with this rank. The rank of an index is the number of
// smaller indices, plus the number of equal indices before it. Indices outside of [0, rows) come last. Eight
// threads compute the rank of one index: each compares it with an eighth of all indices. A block loads the
// indices to shared memory in tiles of 2048.
extern "C" __global__ void __launch_bounds__(256)
    smelt_sort_rank(const int* indices, int* permutation, long long count_, long long rows_) {
  __shared__ unsigned tile[2048];
  const int count = (int)count_, rows = (int)rows_, i = (int)(blockIdx.x * 32 + threadIdx.x / 8), part = threadIdx.x % 8;
  const unsigned kNone = 0xFFFFFFFFu;
  const int index = i < count ? indices[i] : -1;
  const unsigned mine = index >= 0 && index < rows ? (unsigned)index : kNone;
  int rank = 0;
  for (int first = 0; first < count; first += 2048) {
    const int n = count - first < 2048 ? count - first : 2048;
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += 256) {
      const int other = indices[first + j];
      tile[j] = other >= 0 && other < rows ? (unsigned)other : kNone;
    }
    __syncthreads();
    const int before = i - first;  // position of index i in the tile; may be outside of it
#pragma unroll 8
    for (int j = part; j < n; j += 8) rank += tile[j] < mine || (tile[j] == mine && j < before);
  }
#pragma unroll
  for (int d = 1; d < 8; d *= 2) rank += __shfl_xor_sync(0xFFFFFFFFu, rank, d);
  if (i < count && part == 0) permutation[rank] = i;
}
