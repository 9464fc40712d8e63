// The order of tiles, and functions that the epilogue ("body", codegen/cuda/gemm/gemm_text.h) calls. All matmul
// kernels with an epilogue have them.
// Requires: the sizes of a kernel (sizes.cuh, or ../mma_gemm/sizes.cuh), ../shared_memory.cuh and ../halves.cuh.


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
// Returns the distance, in rows, from a lane's first row to the lane's row number i. A lane has two rows, 8
// apart, in each piece of 64 rows; kernels whose pieces have 16 rows pass one piece at a time.
SM constexpr int row_of(int i) { return i / 2 * 64 + i % 2 * 8; }

// Eight columns of a value that is the same in all rows, such as a bias. The operator [row] returns the eight
// columns for any row.
template <class T>
struct Same {
  alignas(16) T columns[8];
  __device__ __forceinline__ const T (&operator[](int) const)[8] { return columns; }
};

// Writes eight adjacent elements of one row of the product, rounded to 16 bits, to `result`. Their columns
// are 8 * (lane & 3) to 8 * (lane & 3) + 7 of a group of 32 columns; `group` is the number of the group.
// sums: the lane's part of an accumulator fragment (wgmma or mma), which has only two of each 8 columns. So every four
// adjacent lanes exchange elements, and all lanes of a warp call it. upper: 0 for the lane's first row, 1 for
// its second.
template <int n>
SM void take_eight(float (&result)[8], const float (&sums)[n], int group, int upper) {
  unsigned w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = 4 * (4 * group + i) + 2 * upper;
    w[i] = pack(sums[at], sums[at + 1]);
  }
  transpose_quad(w);
#pragma unroll
  for (int i = 0; i < 4; ++i) result[2 * i] = low_of(w[i]), result[2 * i + 1] = high_of(w[i]);
}

// ---- column sums
// The epilogue can add up values over the rows of a tile. The order of the additions is fixed: a lane adds its
// own rows, then add_lanes adds up the lanes of a warp, and then add_warps adds up the kSumParts parts of the
// tile. A part is the rows that a warp passes to the epilogue at a time.

// The epilogue computes kSums sums per column. scratch is the address in shared memory of f32 numbers
// [kSums][kSummers][kSumParts][kColumns]. Returns the address of the kColumns numbers at [sum][wg][warp],
// where `warp` is the number of the part.
SM unsigned sums_of_warp(unsigned scratch, int sum, int wg, int warp) {
  return scratch + ((sum * kSummers + wg) * kSumParts + warp) * kColumns * 4;
}
// Adds up `sums`, a lane's sums of eight columns, over the lanes that have the same columns, which are those
// with the same lane & 3. Stores the totals of the 32 columns of group `group` in the warp's sums at the
// address `to`. All lanes of a warp call it.
SM void add_lanes(const float (&sums)[8], int group, int lane, unsigned to) {
#pragma unroll
  for (int j = 0; j < 8; j += 4) {
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[i] = sums[j + i];
#pragma unroll
      for (int bit = 4; bit < 32; bit *= 2) x[i] += __shfl_xor_sync(0xFFFFFFFFu, x[i], bit);
    }
    if (lane < 4) store_four(to + (32 * group + 8 * lane + j) * 4, x[0], x[1], x[2], x[3]);
  }
}
// Adds up the sums of the parts of a tile, which begin at the shared memory address `from`.
// Stores the totals in row `tile` of the partial sums to[splits][columns], from column `column` on. tile:
// index of the tile among the `tiles` tiles with the same columns. The last of these tiles also clears the
// rows of `to` from number `tiles` on. kSumThreads threads call it.
SM void add_warps(float* to, int splits, int tile, int tiles, int column, int columns, int thread, unsigned from) {
  for (int i = thread; i < kColumns; i += kSumThreads) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kSumParts; ++w) sum += __int_as_float(load_shared(from + (w * kColumns + i) * 4));
    if (column + i >= columns) continue;
    to[(long long)tile * columns + column + i] = sum;
    for (int rest = tiles; tile == tiles - 1 && rest < splits; ++rest) to[(long long)rest * columns + column + i] = 0.0f;
  }
}
