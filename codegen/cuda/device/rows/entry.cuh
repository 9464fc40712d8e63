// Entry: an element of a row and its index as one integer. Entries are larger for larger elements and, among
// equal elements, for lower indices. No element has the entry 0, which kernels use for "none".
// Requires: nothing. Comes after one_block.cuh or cluster.cuh.

typedef unsigned long long Entry;  // key_of the element in the high 32 bits, ~index in the low ones
// Returns an integer that orders elements like floats do: NaN is above all, and both zeros are equal.
__device__ __forceinline__ unsigned key_of(float x) {
  const unsigned bits = __float_as_uint(x);
  const unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
  return x != x ? 0xFFFFFFFFu : x == 0.0f ? 0x80000000u : key;
}
__device__ __forceinline__ Entry entry_of(unsigned key, int index) {
  return (Entry)key << 32 | (Entry)~(unsigned)index;
}
__device__ __forceinline__ int index_of(Entry entry) { return (int)~(unsigned)entry; }
