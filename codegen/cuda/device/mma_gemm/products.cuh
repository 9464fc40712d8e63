// Products of the tiles in shared memory, for the matmul kernel for sm_80 and later.
// Requires: copies.cuh.


// Load fragments of 16 units along k, from unit 16 * step of the stage on: those of A for 16 rows, and those of B
// for 16 columns, from `row` or `column` of the tile on. All lanes of a warp call these.
SM void load_a(unsigned (&to)[4], unsigned tile, int row, int step, int lane) {
  if constexpr (kATransposed)
    load_transposed(to, tile + place_in<kRows>(16 * step + (lane & 7) + (lane >> 4 << 3), (row >> 3) + (lane >> 3 & 1)));
  else
    load_fragments(to, tile + place_in<kDepth>(row + (lane & 15), 2 * step + (lane >> 4)));
}
SM void load_b(unsigned (&to)[4], unsigned tile, int column, int step, int lane) {
  if constexpr (kBTransposed)
    load_transposed(to, tile + place_in<kColumns>(16 * step + (lane & 15), (column >> 3) + (lane >> 4)));
  else
    load_fragments(to, tile + place_in<kDepth>(column + (lane & 7) + (lane >> 4 << 3), 2 * step + (lane >> 3 & 1)));
}

// The first row and column, within the tile, of the part that a warp computes.
struct WarpPlace {
  int row, column;
};
SM WarpPlace place_of_warp(unsigned warp) {
  constexpr unsigned kWarps = kRows / kWarpRows;  // warps, one below the other
  return {(int)(warp % kWarps) * kWarpRows, (int)(warp / kWarps) * kWarpColumns};
}

// Adds the products of one stage to the sums of the warp's part of the tile. A lane's sums are kRowPieces accumulators of
// 16 x kWarpColumns elements, in fragments of 8 columns. All threads of the block call it.
SM void multiply_stage(Sum (&sums)[kRowPieces][kWarpColumns / 2], unsigned stage) {
  const unsigned thread = again(threadIdx.x);
  const int lane = thread & 31;
  const auto [row, column] = place_of_warp(thread >> 5);
#pragma unroll kOneTile ? 1 : kDepth / 16
  for (int step = 0; step < kDepth / 16; ++step) {
    unsigned a[kRowPieces][4];
#pragma unroll
    for (int t = 0; t < kRowPieces; ++t) load_a(a[t], stage, row + 16 * t, step, lane);
#pragma unroll
    for (int u = 0; u < kWarpColumns / 16; ++u) {
      unsigned b[4];
      load_b(b, stage + kABytes, column + 16 * u, step, lane);
#pragma unroll
      for (int t = 0; t < kRowPieces; ++t) multiply(sums[t], 8 * u, a[t], b[0], b[1]), multiply(sums[t], 8 * u + 4, a[t], b[2], b[3]);
    }
  }
}
