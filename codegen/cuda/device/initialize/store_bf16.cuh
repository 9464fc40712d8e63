// Rounding of initial weights to bf16.
// Requires: nothing.


// Returns the bits of x, rounded to nearest, ties to even. x must be finite.
__device__ __forceinline__ unsigned short stored(float x) {
  const unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
