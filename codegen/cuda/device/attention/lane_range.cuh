// Ranges of tiles by lane: where each lane asks for a tile of its own, all lanes together scan the tile of one lane after the
// other.
// Requires: tile_range.cuh.

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

