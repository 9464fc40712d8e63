// The function `stored`, which rounds an f32 number to bf16, the element type of some states. (A state is
// an array that the runtime keeps between runs of a plan.)
// Requires: nothing. Comes before kernel.cuh, which calls it.


// Returns the 16 bits of x, rounded to nearest, ties to even. Requires: x is finite.
__device__ __forceinline__ unsigned short stored(float x) {
  const unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
