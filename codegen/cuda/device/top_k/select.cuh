// The kernel of top_k (the kK largest elements of each row, sorted) for kK <= 1024. Each block processes
// one row. It first finds the kK-th largest key of the row, digit by digit. A key is an integer that is
// larger for larger elements (key_of in ../rows/entry.cuh). It then sorts the elements that have this key
// or a larger one.
// Requires: kK, kSorted (the least power of two >= kK), ../rows/*.cuh (Entry, key_of) and put.cuh. The
// host's code replaces the word KERNEL by the kernel's name, and CLUSTER by its cluster attribute, or by
// nothing.

extern "C" __global__ CLUSTER void __launch_bounds__(1024) KERNEL(const float* x_, float* values, int* indices, long long count_, long long row_stride) {
  // A key has three digits of 11, 11 and 10 bits, from the highest to the lowest. For each digit, the block
  // counts how often each value occurs among the keys that begin with the digits found so far. The counts
  // show which value the kK-th largest key has.
  // Then all elements with larger keys are taken, in any order. Of the elements with the kK-th largest key,
  // those with the lowest indices are taken. Finally, the taken elements are sorted, so the result does not
  // depend on the order in which threads run.
  __shared__ int counts[2048];     // number of keys with each value of the digit
  __shared__ int sums[32];         // sums of the warps, for scans
  __shared__ Entry best[kSorted];  // the elements that have been taken
  __shared__ unsigned next_key;
  __shared__ int next_need, taken;
  const float* const x = x_ + (long long)blockIdx.x * row_stride;
  const int count = (int)count_, thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
  int need = count < kK ? count : kK;  // how many results are elements whose keys begin with `key`
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
    // A scan over the values of the digit, from the largest value down, finds the value that the kK-th
    // largest key has. Each thread has two values, and `before` is the number of keys with larger values.
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
  int equal = 0;  // number of elements found so far whose key is `key`
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
  // Bitonic sort of `best`, largest first
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
