// The function `stored`, which converts an f32 to the element type of a state with elements of type bf16.
// Requires: nothing. Comes before kernel.cuh, which calls it.


// Returns the bits of x, rounded to nearest, ties to even. x must be finite.
__device__ __forceinline__ unsigned short stored(float x) {
  const unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
