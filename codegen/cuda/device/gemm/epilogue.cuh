// The function finish_tile of the matmul kernel for sm_90a. It runs the epilogue ("body") for all elements
// that a warp group has computed.
// Requires: tiles.cuh and the body's functions (codegen/cuda/gemm/gemm_text.h).


// ---- the end of a tile
// Runs the epilogue for the accumulators `sums` of warp group wg. All 128 threads of the warp group call it
// when the accumulators are complete. `sums` are kRowTiles pieces of 64 x kColumns elements. `part` is the
// number of the first of these pieces within the tile; it is 0, except for the second of two warp groups
// that share a tile. m and n: rows and columns of the whole result. scratch: address in shared memory for
// column sums, which some epilogues compute.
// The columns are processed in groups of 32. In each group, a lane has eight adjacent columns of its rows
// (take_eight in tiles.cuh). Loads of the next group begin before the current group is computed.
SM void finish_tile(const float (&sums)[kRowTiles][kColumns / 2], const Tile& tile, int part, int wg, int warp, int lane,
                    int m, int n, const BodyArguments& body, unsigned scratch) {
  if (tile.row >= m) return;  // a cluster may have tiles after the last row
  const int row = tile.row + 64 * part + 16 * warp + (lane >> 2), column = tile.column + 8 * (lane & 3);
  BodyLoads loads[2];
  body_load(body, row, m, column, n, loads[0]);
#pragma unroll
  for (int group = 0; group < kColumns / 32; ++group) {
    if (group + 1 < kColumns / 32) body_load(body, row, m, column + 32 * (group + 1), n, loads[(group + 1) % 2]);
    body_run(body, row, m, column + 32 * group, n, loads[group % 2],
             [&](int i, float (&result)[8]) { take_eight(result, sums[i / 2], group, i % 2); }, group, wg, warp, lane, scratch);
  }
  if (kSums == 0) return;
  // The first barrier: all warps have stored their column sums before body_sum reads them. The second
  // barrier: body_sum has read them before the sums of the next tile overwrite them.
  named_sync<128>(1 + wg);
  body_sum(body, tile.row / kRows, (m + kRows - 1) / kRows, tile.column, n, wg, 32 * warp + lane, scratch);
  named_sync<128>(1 + wg);
}
