// The kernel that sorts few indices: it computes the rank of each among all by comparing it with each.
// Requires: nothing.

// Where each index stands among all: smaller ones first, equal ones in their order. Eight threads count for one
// index, each an eighth of all, read through shared memory; what they find depends on the order of nothing.
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
    const int before = i - first;  // those of the tile that stand before mine
#pragma unroll 8
    for (int j = part; j < n; j += 8) rank += tile[j] < mine || (tile[j] == mine && j < before);
  }
#pragma unroll
  for (int d = 1; d < 8; d *= 2) rank += __shfl_xor_sync(0xFFFFFFFFu, rank, d);
  if (i < count && part == 0) permutation[rank] = i;
}
