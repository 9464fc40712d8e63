// Ranges of the integers that a mask loads, where each lane of a warp has a tile of its own.
// Requires: tile_range.cuh.

// Returns the lane's range of x[at + i * stride] for i in [0, count). All lanes of a warp call this together.
// x and stride are the same in all lanes. kByLane: `at` and `count` differ, so the lanes load the integers of
// one lane after the other, each time together. Otherwise these are the same too.
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

