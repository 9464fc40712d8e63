// The function lane_range. Some attention masks load an integer for each query or key, such as the number
// of its document. The function returns the least and the largest of these integers for a range of queries
// or keys. Each lane of a warp may have a different range.
// Requires: tile_range.cuh.

// Returns the least and the largest of the integers x[at + i * stride] for i in [0, count). All lanes of a
// warp call this together, with the same x and stride. kByLane: `at` and `count` may differ between the
// lanes. If so, the warp computes the ranges of the 32 lanes one after the other, and all lanes together
// load the integers of each range. If kByLane is false, all lanes must pass the same arguments.
template <bool kByLane, typename T>
SM TileRange lane_range(const T* x, Index at, Index stride, int count) {
  if (!kByLane) return tile_range(x, at, stride, count);
  TileRange own = {};
#pragma unroll 1
  for (int lane = 0; lane < 32; ++lane) {
    const TileRange one = tile_range(x, __shfl_sync(~0u, at, lane), stride, __shfl_sync(~0u, count, lane));
    if ((threadIdx.x & 31) == lane) own = one;
  }
  return own;
}

