// The least and the largest of the integers that a mask loads for a tile's queries or keys.
// Requires: SM, the type Index and sm_get. C++ replaces the word LOADS by the number of loads in flight.

struct TileRange {
  int least, most;
};
// Returns the range of x[at + i * stride] for i in [0, count). All lanes of a warp call this together with
// the same arguments. For count <= 0 it loads nothing, and least is above most.
template <typename T>
SM TileRange tile_range(const T* x, Index at, Index stride, int count) {
  int least = 0x7fffffff, most = -0x7fffffff - 1;
#pragma unroll LOADS
  for (int i = threadIdx.x & 31; i < count; i += 32) {
    const int number = sm_get(x[at + i * stride]);
    least = min(least, number), most = max(most, number);
  }
  return {__reduce_min_sync(~0u, least), __reduce_max_sync(~0u, most)};
}

