// The kernel that scans (prefix-sums) an array [outer, count, inner] along its middle axis. A line is the
// `count` elements with the same outer and inner index. Each thread scans one line.
// Requires: the type T of the elements, the operation T combine(T, T), kIdentity (the identity of combine),
// and kExclusive (element i is not part of result i). C++ replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* x, T* y, long long outer, long long count, long long inner, long long x_outer,
                          long long x_stride, long long y_outer, long long y_stride) {
  // Adjacent threads scan adjacent lines. Strides are in elements: x_outer and y_outer for the outer axis,
  // x_stride and y_stride for the middle axis. The inner axis is contiguous.
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
