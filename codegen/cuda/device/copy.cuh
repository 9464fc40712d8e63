// The kernel that copies `count` contiguous elements, one per thread. Element is an unsigned integer type
// with the size of the elements.
// Requires: the type Element. C++ replaces the word KERNEL by the kernel's name.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Element* from, Element* to, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}
