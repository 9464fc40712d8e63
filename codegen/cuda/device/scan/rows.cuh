// The kernel that scans lines along rows: a block per line.
// Requires: the type T, kIdentity, kExclusive and T combine(T, T). C++ replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(1024)
    KERNEL(const T* x_, T* y_, long long count, long long x_outer, long long x_stride, long long y_outer,
                       long long y_stride) {
  // A line a block, 4,096 elements at a time: a thread takes four neighbours, warps and then the block join what
  // their threads found. The order of sums depends on the places alone.
  __shared__ T sums[32];
  const T* const x = x_ + (long long)blockIdx.x * x_outer;
  T* const y = y_ + (long long)blockIdx.x * y_outer;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T carry = kIdentity;
  for (long long first = 0; first < count; first += 4096) {
    const long long at = first + threadIdx.x * 4;
    T v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = at + e < count ? x[(at + e) * x_stride] : kIdentity;
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
