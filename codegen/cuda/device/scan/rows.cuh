// The kernel that scans each row of an array [outer, count] (a prefix sum, or the same with another
// associative operation `combine`). Each thread block scans one row.
// Requires: the type T, kIdentity (the identity of combine), kExclusive (result i combines the elements
// before i; otherwise it includes element i) and T combine(T, T). C++ replaces the word KERNEL by the
// kernel's name.

extern "C" __global__ void __launch_bounds__(1024)
    KERNEL(const T* x_, T* y_, long long count, long long x_outer, long long x_stride, long long y_outer,
                       long long y_stride) {
  // A block scans 4,096 elements at a time: each thread combines four adjacent elements, and their results
  // are scanned over the lanes of each warp and then over the warps. The order of combinations does not
  // depend on timing, so every run gives the same bits. Strides are in elements: x_outer and y_outer
  // between rows, x_stride and y_stride between elements of a row.
  __shared__ T sums[32];
  const T* const x = x_ + (long long)blockIdx.x * x_outer;
  T* const y = y_ + (long long)blockIdx.x * y_outer;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T carry = kIdentity;  // the combination of all elements before `first`
  for (long long first = 0; first < count; first += 4096) {
    const long long at = first + threadIdx.x * 4;
    T v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = at + e < count ? x[(at + e) * x_stride] : kIdentity;
    // upto: the combination of the elements of this warp up to this thread's last one. before: the
    // combination of all elements of the row before those of this thread.
    T upto = combine(combine(v[0], v[1]), combine(v[2], v[3]));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const T below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
      if (lane >= d) upto = combine(below, upto);
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    T before = carry;
#pragma unroll
    for (int w = 0; w < 32; ++w) {
      if (w < warp) before = combine(before, sums[w]);
      carry = combine(carry, sums[w]);
    }
    const T previous = __shfl_up_sync(0xFFFFFFFFu, upto, 1);
    if (lane > 0) before = combine(before, previous);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const T with = combine(before, v[e]);
      if (at + e < count) y[(at + e) * y_stride] = kExclusive ? before : with;
      before = with;
    }
    __syncthreads();
  }
}
