// The kernel of top_k (the kK largest elements of each row, sorted) for kK <= 1024. It finds the kK-th
// largest key digit by digit, and sorts the elements that have this key or a larger one.
// Each block processes one row.
// Requires: kK, kSorted (the least power of two >= kK), ../rows/*.cuh (Entry, key_of) and put.cuh. The host's
// code replaces the word KERNEL by the kernel's name, and CLUSTER by its cluster attribute, or by nothing.

extern "C" __global__ CLUSTER void __launch_bounds__(1024) KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // One row per block. The digits of the kK-th largest key have 11, 11 and 10 bits, the highest first. Each
  // is found from the counts of its values, among the keys that begin with the digits found before. Elements
  // with larger keys are then taken in any order, those with this key in the order of their indices, and all
  // are sorted. So the result does not depend on the order of threads.
  __shared__ int counts[2048];     // per value of a digit
  __shared__ int sums[32];         // per warp, for scans
  __shared__ Entry best[kSorted];  // the elements taken
  __shared__ unsigned next_key;
  __shared__ int next_need, taken;
  const float* const x = x_ + (long long)blockIdx.x * row_stride;
  const int count = (int)count_, thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  int need = count < kK ? count : kK;  // number of results among the elements whose keys begin with `key`
  unsigned key = 0;  // the digits found so far
  for (int pass = 0; pass < 3 && need > 0; ++pass) {
    const int shift = pass == 0 ? 21 : pass == 1 ? 10 : 0, bits = pass == 2 ? 10 : 11;
    counts[thread] = 0, counts[thread + 1024] = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = thread; i < count; i += 1024) {
      const unsigned other = key_of(x[i]);
      if (pass == 0 || other >> (shift + bits) == key) atomicAdd(&counts[other >> shift & ((1u << bits) - 1)], 1);
    }
    __syncthreads();
    // A scan from the largest value down, with two values per thread, finds the value that the key has.
    const int high = counts[2047 - 2 * thread], low = counts[2046 - 2 * thread];
    int upto = high + low;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
      upto += lane >= d ? below : 0;
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    int before = upto - high - low;
    for (int w = 0; w < warp; ++w) before += sums[w];
    if (before < need && before + high + low >= need) {
      const bool first = before + high >= need;
      next_key = key << bits | (unsigned)(first ? 2047 - 2 * thread : 2046 - 2 * thread);
      next_need = first ? need - before : need - before - high;
    }
    __syncthreads();
    key = next_key, need = next_need;
  }
  if (thread == 0) taken = 0;
  if (thread < kSorted) best[thread] = 0;
  __syncthreads();
  int equal = 0;  // number of elements with this key so far
  for (int first = 0; first < count; first += 1024) {
    const int i = first + thread;
    const unsigned other = i < count ? key_of(x[i]) : 0u;
    if (i < count && other > key) best[atomicAdd(&taken, 1)] = entry_of(other, i);
    if (equal >= need) continue;
    const bool same = i < count && other == key;
    const unsigned votes = __ballot_sync(0xFFFFFFFFu, same);
    if (lane == 0) sums[warp] = __popc(votes);
    __syncthreads();
    int before = equal + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < 32; ++w) {
      before += w < warp ? sums[w] : 0;
      equal += sums[w];
    }
    if (same && before < need) best[atomicAdd(&taken, 1)] = entry_of(other, i);
    __syncthreads();
  }
  // Bitonic sort, largest first
  for (int size = 2; size <= kSorted; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int other = thread ^ stride;
      if (thread >= kSorted || other < thread) continue;
      const Entry a = best[thread], b = best[other];
      if ((a < b) == ((thread & size) == 0)) best[thread] = b, best[other] = a;
    }
  __syncthreads();
  const long long to = (long long)blockIdx.x * kK + thread;
  if (thread < kK) put(x, best[thread], values + to, indices + to);
}
