// Tiles in shared memory, fragments, products of tiles, and the order in which blocks compute tiles, in the
// attention kernels that use mma.sync. A row of a tile in shared memory has kPitch bytes, an odd number of
// 16-byte pieces. So pieces in the same columns of eight consecutive rows are in different banks, and no
// swizzle is needed.
// Requires: instructions.cuh.


// kWarpRows: rows that a warp computes, which are kRowTiles fragments of 16 rows. kRows: rows that the block
// computes.
constexpr int kThreads = 32 * kWarps, kWarpRows = 16 * kRowTiles, kRows = kWarpRows * kWarps;
// kHead: elements of a head. kPadded: columns of a tile in shared memory, which are kHead rounded up to a
// multiple of kUnit. kPitch: bytes from one row of the tile to the next.
constexpr int kUnit = 16 * kParts, kPadded = (kHead + kUnit - 1) / kUnit * kUnit, kPitch = 2 * kPadded + 16;
// kPart: columns of the head for which a block computes results. There are kParts such parts of the head.
constexpr int kPart = kPadded / kParts;
constexpr float kLog2e = 1.4426950408889634f;

SM float infinity() { return __uint_as_float(0x7f800000u); }

// ---- shared memory

// A matrix in device memory. at: its first row, which has kHead elements. stride: elements from one row to
// the next.
struct Matrix {
  const Half* at;
  long long stride;
};

// Starts to copy rows [first, first + kCount) of a matrix to the shared memory address `tile`. Rows from
// `end` on and columns from kHead on become zero. All threads of the block call this. In the kernel of dK
// and dV (kRowsAreKeys), the function fresh makes each call compute the addresses again, because that kernel
// has too few registers to keep them.
template <int kCount>
SM void copy_rows(unsigned tile, const Matrix& matrix, int first, int end) {
  constexpr int kPieces = kPadded / 8, kStep = kThreads / kPieces, kSteps = (kCount + kStep - 1) / kStep;
  const int thread = kRowsAreKeys ? fresh(threadIdx.x) : threadIdx.x, column = thread % kPieces * 8;
  int row = thread / kPieces;
  if (kThreads % kPieces != 0 && row >= kStep) return;
  const Half* from = matrix.at + (first + row) * matrix.stride + column;
  tile += row * kPitch + 2 * column, end -= first;
#pragma unroll(kVector == 8 ? kSteps : 1)
  for (int i = 0; i < kSteps; ++i) {
    if (kCount % kStep != 0 && row >= kCount) break;
#pragma unroll
    for (int e = 0; e < 8; e += kVector)
      copy_piece(tile + 2 * e, from + e, row < end && (kHead == kPadded || column + e < kHead));
    row += kStep, tile += kStep * kPitch, from += kStep * matrix.stride;
  }
}

// ---- fragments: the elements of a matrix that a lane holds

SM int lane() { return threadIdx.x & 31; }
// Returns the first of the warp's rows in a tile.
SM int warp_row() { return (threadIdx.x >> 5) * kWarpRows; }
// Return the row and the column of the lane's first element in an accumulator fragment of 16 x 8 elements.
// The lane has four elements: this column and the next one, in this row and in the row 8 below.
SM int lane_row() { return lane() >> 2; }
SM int lane_column() { return 2 * (lane() & 3); }

// Return the offset in bytes that a lane adds to the address of 16 x 16 elements, for load_fragment or
// load_transposed. by_rows is for A, and for B of a product A B. by_columns is for B of a product A B^T.
SM unsigned by_rows() { return (lane() & 15) * kPitch + (lane() >> 4) * 16; }
SM unsigned by_columns() { return ((lane() & 7) + (lane() >> 4) * 8) * kPitch + (lane() >> 3 & 1) * 16; }

// Accumulators of a warp for kWarpRows rows and 8 * kColumnTiles columns. Element [t][n][2 * half + e] of a
// lane, with half and e from 0 to 1, is in row 16 * t + 8 * half + lane_row() and in column 8 * n +
// lane_column() + e.
template <int kColumnTiles>
using Sums = float[kRowTiles][kColumnTiles][4];

template <int kColumnTiles>
SM void clear(Sums<kColumnTiles>& sums) {
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[t][n][i] = 0.0f;
}

// sums = A B^T, summed over the columns of the head. a: address of the warp's first row of A, plus
// by_rows(). b: address of B, which has 8 * kColumnTiles rows, plus by_columns(). All lanes of a warp call
// this.
template <int kColumnTiles>
SM void multiply_rows(Sums<kColumnTiles>& sums, unsigned a, unsigned b) {
  clear<kColumnTiles>(sums);
#pragma unroll
  for (int k = 0; k < kPadded / 16; ++k) {
    unsigned af[kRowTiles][4];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) load_fragment(af[t], a + 16 * t * kPitch + 32 * k);
#pragma unroll
    for (int n = 0; n < kColumnTiles; n += 2) {
      unsigned bf[4];
      load_fragment(bf, b + 8 * n * kPitch + 32 * k);
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        multiply(sums[t][n], af[t], bf[0], bf[1]);
        multiply(sums[t][n + 1], af[t], bf[2], bf[3]);
      }
    }
  }
}

// sums += weights B, with the weights rounded to Half. b: address of B, which has 8 * kColumnTiles rows and
// kPart columns, plus by_rows(). Two accumulator fragments of weights, rounded, are one fragment of operand
// A. All lanes of a warp call this.
template <int kColumnTiles>
SM void add_weighted(Sums<kPart / 8>& sums, const Sums<kColumnTiles>& weights, unsigned b) {
#pragma unroll
  for (int k = 0; k < kColumnTiles; k += 2) {
    unsigned af[kRowTiles][4];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        af[t][i] = pack(weights[t][k + i / 2][i % 2 * 2], weights[t][k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int n = 0; n < kPart / 8; n += 2) {
      unsigned bf[4];
      load_transposed(bf, b + 8 * k * kPitch + 16 * n);
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        multiply(sums[t][n], af[t], bf[0], bf[1]);
        multiply(sums[t][n + 1], af[t], bf[2], bf[3]);
      }
    }
  }
}

// Return the sum or the maximum of x over the quad: the four adjacent lanes that hold the columns of a row.
SM float sum_of_quad(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
SM float max_of_quad(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// ---- results

// Stores a warp's sums in the matrix `to`, whose rows are `stride` elements apart, from row `first` on. Rows
// from `end` on are left out. Each row is multiplied by its scale and rounded to Half. part: the sums are
// for columns part * kPart to part * kPart + kPart - 1 of the head. staging: address of kWarpRows rows of
// shared memory for this warp, through which the stores become contiguous. All lanes of the warp call this.
SM void store_rows(Half* to, long long stride, const Sums<kPart / 8>& sums,
                   const float (&scales)[kRowTiles][2], unsigned staging, int first, int end, int part) {
  __syncwarp(~0u);
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        store_word(staging + (16 * t + 8 * half + lane_row()) * kPitch + 16 * n + 2 * lane_column(),
                   pack(sums[t][n][2 * half] * scales[t][half], sums[t][n][2 * half + 1] * scales[t][half]));
  __syncwarp(~0u);
  constexpr int kPieces = kPart / kVector;
#pragma unroll 4
  for (int piece = lane(); piece < kWarpRows * kPieces; piece += 32) {
    const int row = piece / kPieces, column = piece % kPieces * kVector;
    if (first + row < end && part * kPart + column < kHead)
      store_piece(to + (first + row) * stride + part * kPart + column, staging + row * kPitch + 2 * column);
  }
}

// ---- the grid

// The work of a block. tile: index of a tile of rows within its head. head: index of the head among the
// heads of all batch rows.
struct Place {
  int tile, head;
};

// Returns the tile and the head that block number `block` computes. tiles: tiles per head. heads: heads of
// all batch rows. head_bytes: bytes that all blocks of a head read. Heads are processed in sets, one set
// after the other. A set has as many heads as fit into 24 MiB of the L2 cache. In a set, consecutive blocks
// have the same tile of different heads.
SM Place place_of(int block, int tiles, int heads, long long head_bytes) {
  const int together = (int)min(max((24LL << 20) / head_bytes, 1LL), (long long)heads);
  const int part = block / (together * tiles), rest = block % (together * tiles);
  const int here = min(together, heads - part * together);
  return {rest / here, part * together + rest % here};
}
