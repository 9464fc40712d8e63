// The order of tiles, and column sums. All matmul kernels with an epilogue have them.
// Requires: the sizes of a kernel (sizes.cuh, or ../mma_gemm/sizes.cuh) and ../shared_memory.cuh.


// ---- tiles
// A tile of the result, kRows x kColumns.
struct Tile {
  int row, column;  // the first row and column
};
// Returns the tile of block `rank` of a cluster in work item `item`. An item is kCluster tiles, one below
// the other. The matrix product has row_tiles rows of items and column_tiles columns of items. Items are
// numbered in bands of kGroup rows of items, one band after the other. Within a band, the items are numbered
// column by column.
SM Tile tile_of(int item, int rank, int row_tiles, int column_tiles) {
  const int group = item / (kGroup * column_tiles), within = item % (kGroup * column_tiles);
  const int rows = min(kGroup, row_tiles - group * kGroup);
  return {((group * kGroup + within % rows) * kCluster + rank) * kRows, within / rows * kColumns};
}

// ---- column sums
// The epilogue can add up values over the rows of a tile. The order of the additions is fixed: a lane adds its own rows,
// then add_lanes adds up the lanes of a warp, and then add_warps adds up the kSumParts parts of the tile. A part is the
// rows of which a warp's lanes add up their sums at a time.

// The epilogue computes kSums sums per column. scratch is the address in shared memory of f32 numbers
// [kSums][kSumParts][kColumns]. Returns the address of the kColumns numbers at [sum][part].
SM unsigned sums_of_part(unsigned scratch, int sum, int part) { return scratch + (sum * kSumParts + part) * kColumns * 4; }
// Adds up the sums of the parts of a tile, which begin at the shared memory address `from`. Stores the totals in row
// `tile` of the partial sums to[splits][columns], from column `column` on. tile: index of the tile among the `tiles`
// tiles with the same columns. The last of these tiles also clears the rows of `to` from number `tiles` on. kSumThreads
// threads call it.
SM void add_warps(float* to, int splits, int tile, int tiles, int column, int columns, int thread, unsigned from) {
  for (int i = thread; i < kColumns; i += kSumThreads) {
    float sum = 0.0f;
#pragma unroll
    for (int part = 0; part < kSumParts; ++part) sum += __int_as_float(load_shared(from + (part * kColumns + i) * 4));
    if (column + i >= columns) continue;
    to[(long long)tile * columns + column + i] = sum;
    for (int rest = tiles; tile == tiles - 1 && rest < splits; ++rest) to[(long long)rest * columns + column + i] = 0.0f;
  }
}
// In the epilogue, kRowLanes adjacent lanes of a warp have eight columns of a row each. Adds up `sums`, a lane's sums, over
// the lanes that have the same columns. Stores the totals of the columns of kRowLanes lanes at the address `to`. All lanes
// of a warp call it.
SM void add_lanes(const float (&sums)[8], int lane, unsigned to) {
#pragma unroll
  for (int j = 0; j < 8; j += 4) {
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[i] = sums[j + i];
#pragma unroll
      for (int bit = kRowLanes; bit < 32; bit *= 2) x[i] += __shfl_xor_sync(0xFFFFFFFFu, x[i], bit);
    }
    if (lane < kRowLanes) store_four(to + (8 * lane + j) * 4, x[0], x[1], x[2], x[3]);
  }
}
