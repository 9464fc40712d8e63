// Copies of boxes by TMA, the order of tiles, and what the body of a matmul calls: lanes' rows, columns and sums.
// Requires: sizes.cuh and wgmma/*.cuh.


// ---- copies
// A box of 64 by 64 elements, or a part of what a cluster shares for all of its blocks; places outside are zero.
SM void copy_box(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
SM void copy_box_to_all(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  if (kCluster == 1) return copy_box(to, map, x, y, barrier);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)((1 << kCluster) - 1)) : "memory");
}
// One lane of the warp, of which the compiler knows that it is one.
SM bool is_elected() {
  unsigned elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}
// The barrier at this address in a block of the cluster.
SM void arrive_in(unsigned block, unsigned barrier) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(block));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}
SM void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// ---- tiles
struct Tile {
  int row, column;  // first ones
};
// Tiles of a group of rows follow one another, those of a column first. A cluster's tiles lie below one another.
SM Tile tile_of(int item, int rank, int row_tiles, int column_tiles) {
  const int group = item / (kGroup * column_tiles), within = item % (kGroup * column_tiles);
  const int rows = min(kGroup, row_tiles - group * kGroup);
  return {((group * kGroup + within % rows) * kCluster + rank) * kRows, within / rows * kColumns};
}
// Which of a lane's rows of its warpgroup's tile: two of each 64.
SM constexpr int row_of(int i) { return i / 2 * 64 + i % 2 * 8; }

// What the body reads of eight columns in all rows of a lane alike.
template <class T>
struct Same {
  alignas(16) T columns[8];
  __device__ __forceinline__ const T (&operator[](int) const)[8] { return columns; }
};

// The result, rounded, in eight neighbouring columns of 32: a quad holds two columns of each eight a lane.
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
// Sums of a tile's columns over the rows of a warpgroup, in a fixed order: a lane's own rows (which it has added up), those
// of the lanes, and, when all columns are there, those of the warps. They are a row of the partial sums; the last tile
// clears the rows that no tile has.
SM unsigned sums_of_warp(unsigned scratch, int sum, int wg, int warp) {
  return scratch + ((sum * 2 + wg) * 4 + warp) * kColumns * 4;
}
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
