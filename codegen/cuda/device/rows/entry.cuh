// The type Entry: one integer that contains an element of a row and its index. A larger element has a
// larger entry. Among equal elements, the one with the lowest index has the largest entry. No element has
// the entry 0, which kernels use for "none".
// Requires: nothing. Comes after one_block.cuh or cluster.cuh.

typedef unsigned long long Entry;  // high 32 bits: key_of(element); low 32 bits: ~index
// Returns the key of an element. Keys, as integers, have the same order as the elements: NaN has the
// largest key, and both zeros have the same key.
__device__ __forceinline__ unsigned key_of(float x) {
  const unsigned bits = __float_as_uint(x);
  const unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
  return x != x ? 0xFFFFFFFFu : x == 0.0f ? 0x80000000u : key;
}
// Returns the entry of the element with this key and index.
__device__ __forceinline__ Entry entry_of(unsigned key, int index) {
  return (Entry)key << 32 | (Entry)~(unsigned)index;
}
// Returns the index of the element that has this entry.
__device__ __forceinline__ int index_of(Entry entry) { return (int)~(unsigned)entry; }
