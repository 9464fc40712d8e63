// finish_tile, which calls the body for all elements of a tile.
// Requires: tiles.cuh and the body's functions (codegen/cuda/gemm/gemm_text.h).


// ---- what becomes of a tile
SM void finish_tile(const float (&sums)[kRowTiles][kColumns / 2], const Tile& tile, int part, int wg, int warp, int lane,
                    int m, int n, const BodyArguments& body, unsigned scratch) {
  if (tile.row >= m) return;  // of the cluster's tiles the last ones
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
  named_sync<128>(1 + wg);
  body_sum(body, tile.row / kRows, (m + kRows - 1) / kRows, tile.column, n, wg, 32 * warp + lane, scratch);
  named_sync<128>(1 + wg);
}
