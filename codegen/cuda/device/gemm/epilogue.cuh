// Part of the matmul kernel for sm_90a: finish_tile, which runs the epilogue ("body") for all elements of a
// tile.
// Requires: tiles.cuh and the body's functions (codegen/cuda/gemm/gemm_text.h).


// ---- the end of a tile
// Runs the epilogue for the rows of warp group wg. All its threads call it when their accumulators `sums` are
// complete: kRowTiles pieces of 64 x kColumns. `part` is the first of these pieces within the tile. In each
// group of 32 columns, a lane has eight adjacent columns (take_eight). Loads of the next group begin before
// the current group is computed. `scratch` is the address of the column sums in shared memory.
SM void finish_tile(const float (&sums)[kRowTiles][kColumns / 2], const Tile& tile, int part, int wg, int warp, int lane,
                    int m, int n, const BodyArguments& body, unsigned scratch) {
  if (tile.row >= m) return;  // the rows of tiles are rounded up to whole clusters
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
  // The column sums of all warps must be stored before body_sum reads them, and read before the next tile's
  // are stored.
  named_sync<128>(1 + wg);
  body_sum(body, tile.row / kRows, (m + kRows - 1) / kRows, tile.column, n, wg, 32 * warp + lane, scratch);
  named_sync<128>(1 + wg);
}
