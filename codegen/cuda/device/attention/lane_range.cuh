// The least and the largest of the integers that a mask loads (tile_range.cuh), if the 32 lanes of a warp
// examine different tiles of scores.
// Requires: tile_range.cuh.

// Returns the range of x[at + i * stride] for i in [0, count). All lanes of a warp call this together, with
// the same x and stride. kByLane: `at` and `count` differ between the lanes. The warp then computes the range
// of one lane after the other, and all lanes load integers for it. If kByLane is false, all arguments are
// equal.
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

