// The kernel that scans lines along columns: a thread per line.
// Requires: the type T, kIdentity, kExclusive and T combine(T, T). C++ replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* x, T* y, long long outer, long long count, long long inner, long long x_outer,
                          long long x_stride, long long y_outer, long long y_stride) {
  // A line a thread; neighbouring threads have neighbouring lines.
  const long long line = (long long)blockIdx.x * 256 + threadIdx.x;
  if (line >= outer * inner) return;
  const T* from = x + line / inner * x_outer + line % inner;
  T* to = y + line / inner * y_outer + line % inner;
  T carry = kIdentity;
  for (long long i = 0; i < count; ++i) {
    const T with = combine(carry, from[i * x_stride]);
    to[i * y_stride] = kExclusive ? carry : with;
    carry = with;
  }
}
