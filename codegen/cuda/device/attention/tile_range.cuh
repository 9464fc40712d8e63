// The function tile_range. Some attention masks load an integer for each query or key, such as the number
// of its document. The function returns the least and the largest of these integers for the queries or keys
// of a tile.
// Requires: SM, the type Index (the integer type of indices) and sm_get (converts an element of memory to a
// number). The compiler replaces the word LOADS by a number: the loads that a lane has in flight.

struct TileRange {
  int least, most;
};
// Returns the least and the largest of the integers x[at + i * stride] for i in [0, count). All lanes of a
// warp call this together with the same arguments. If count <= 0, it loads nothing, and returns a `least`
// that is larger than `most`.
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

