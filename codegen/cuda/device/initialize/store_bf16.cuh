// An initial weight as bfloat16 stores it.
// Requires: nothing.


__device__ __forceinline__ unsigned short stored(float x) {
  const unsigned bits = __float_as_uint(x);  // finite: to the nearest, ties to even
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
