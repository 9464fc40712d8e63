// Parts of the matmul kernel for sm_90a: copies of boxes by TMA, synchronization in a cluster, the order of
// tiles, and functions that the epilogue ("body", codegen/cuda/gemm/gemm_text.h) calls.
// Requires: sizes.cuh and the files of ../wgmma. A box of an operand has 64 x 64 elements of 16 bits, stored as 64
// rows of 128 bytes with the 128-byte swizzle.


// ---- copies
// Copies a box to the same shared memory address in all blocks of the cluster. The mbarrier at the address
// `barrier` of each block counts the bytes that have been copied to that block. One lane calls it.
SM void copy_box_to_all(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  if (kCluster == 1) return copy_box(to, map, x, y, barrier);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)((1 << kCluster) - 1)) : "memory");
}
// Returns true in one lane of the warp, and false in the others. All lanes call it. Because of elect.sync,
// the compiler knows that only one lane runs the code that this result selects.
SM bool is_elected() {
  unsigned elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}

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
// apart, in each piece of 64 rows.
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
// sums: the lane's part of a wgmma accumulator fragment, which has only two of each 8 columns. So every four
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
// The epilogue can add up values over the rows of a warp group's tile. The order of the additions is fixed:
// a lane adds its own rows, then add_lanes adds up the lanes of a warp, and then add_warps adds up the
// warps.

// The epilogue computes kSums sums per column. scratch is the address in shared memory of f32 numbers
// [kSums][2 warp groups][4 warps][kColumns]. Returns the address of the kColumns numbers at
// [sum][wg][warp].
SM unsigned sums_of_warp(unsigned scratch, int sum, int wg, int warp) {
  return scratch + ((sum * 2 + wg) * 4 + warp) * kColumns * 4;
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
// Adds up the sums of the four warps of a warp group, which begin at the shared memory address `from`.
// Stores the totals in row `tile` of the partial sums to[splits][columns], from column `column` on. tile:
// index of the tile among the `tiles` tiles with the same columns. The last of these tiles also clears the
// rows of `to` from number `tiles` on. All 128 threads of a warp group call it.
SM void add_warps(float* to, int splits, int tile, int tiles, int column, int columns, int thread, unsigned from) {
  for (int i = thread; i < kColumns; i += 128) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; ++w) sum += __int_as_float(load_shared(from + (w * kColumns + i) * 4));
    if (column + i >= columns) continue;
    to[(long long)tile * columns + column + i] = sum;
    for (int rest = tiles; tile == tiles - 1 && rest < splits; ++rest) to[(long long)rest * columns + column + i] = 0.0f;
  }
}
