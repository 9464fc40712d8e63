// The kernel of top_k for any k up to 1024: finds the k-th largest key by its digits, and sorts what is not below it.
// Requires: kK, kSorted (the power of two from kK on), rows/*.cuh, put.cuh. C++ replaces the words KERNEL (its name) and
// CLUSTER (its attribute, or nothing).

extern "C" __global__ CLUSTER void __launch_bounds__(1024) KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // One row per block. The k-th largest key is found digit by digit, the highest first, by counting the values of a
  // digit among the keys that begin as it does. Larger keys are then taken in any order, equal ones in that of
  // their indices, and all of them sorted: what comes out depends on the order of nothing.
  __shared__ int counts[2048];
  __shared__ int sums[32];
  __shared__ Entry best[kSorted];
  __shared__ unsigned next_key;
  __shared__ int next_need, taken;
  const float* const x = x_ + (long long)blockIdx.x * row_stride;
  const int count = (int)count_, thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  int need = count < kK ? count : kK;  // of the keys that begin with `key`
  unsigned key = 0;
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
    // The largest values first: two of them a thread.
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
  int equal = 0;  // so far
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
