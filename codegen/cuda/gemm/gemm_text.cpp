#include "codegen/cuda/gemm/gemm_text.h"

#include <fmt/format.h>

#include "codegen/cuda/wgmma_text.h"

namespace smelt {
namespace {

constexpr int kConsumers = 2, kWarpgroup = 128;
constexpr int kDepth = 64, kRowBytes = 128;    // of a stage along k; of a row of a box
constexpr int kBarrierBytes = 16;              // of a stage
constexpr int kSumBytes = 4 * kConsumers * 4;  // of a column: a number for each warp

constexpr std::string_view kSizes = R"(
constexpr int kRowTiles = {row_tiles}, kColumns = {columns}, kSharing = {sharing}, kCluster = {cluster};
constexpr int kStages = {stages}, kSums = {sums}, kThreads = 384;
constexpr bool kATransposed = {a_transposed}, kBTransposed = {b_transposed};
// Of a tile, of the rows that a lane has at a time, and of shared memory: boxes are 64 by 64 elements.
constexpr int kRows = 64 * kRowTiles * kSharing, kLaneRows = 2 * kRowTiles;
constexpr int kBoxBytes = 64 * 128, kABoxes = kRows / 64, kBBoxes = kColumns / 64;
constexpr int kStageBytes = (kABoxes + kBBoxes) * kBoxBytes;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
// Rows of clusters whose tiles follow one another before the next ones: what they read stays in the cache.
constexpr int kGroup = 2048 / (kRows * kCluster);
)";

constexpr std::string_view kCopies = R"(
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
)";

constexpr std::string_view kKernel = R"(
// ---- the kernel
SM void gemm(const TensorMap& a_map, const TensorMap& b_map, long long m_, long long n_, long long k_,
             const BodyArguments& body) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int m = (int)m_, n = (int)n_, steps = (int)((k_ + 63) / 64);
  const int row_tiles = (m + kRows * kCluster - 1) / (kRows * kCluster), column_tiles = (n + kColumns - 1) / kColumns;
  const int items = row_tiles * column_tiles, rank = kCluster > 1 ? (int)(blockIdx.x % kCluster) : 0;
  const int first = (int)(blockIdx.x / kCluster), step = (int)(gridDim.x / kCluster);

  const unsigned tiles = (shared_address(memory) + 1023) & ~1023u, full = tiles + kStages * kStageBytes,
                 empty = full + 8 * kStages, scratch = empty + 8 * kStages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 1), barrier_init(empty + 8 * i, 4 * kSharing * kCluster);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_stores();
  }
  if (kCluster > 1) cluster_sync();
  else __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (uniform(threadIdx.x / 32) == 0) {
      const bool leads = is_elected();
      int stage = 0;
      unsigned phase = 1;
      for (int item = first; item < items; item += step) {
        const Tile tile = tile_of(item, rank, row_tiles, column_tiles);
        for (int at = 0; at < steps; ++at) {
          const unsigned to = tiles + stage * kStageBytes, barrier = full + 8 * stage;
          barrier_wait(empty + 8 * stage, phase);
          if (leads) {
            barrier_expect(barrier, kStageBytes);
#pragma unroll
            for (int i = 0; i < kABoxes; ++i) {
              const int row = tile.row + 64 * i;
              copy_box(to + i * kBoxBytes, a_map, kATransposed ? row : 64 * at, kATransposed ? 64 * at : row, barrier);
            }
#pragma unroll
            for (int j = 0; j < kBBoxes / kCluster; ++j) {
              const int i = rank * (kBBoxes / kCluster) + j, column = tile.column + 64 * i;
              copy_box_to_all(to + (kABoxes + i) * kBoxBytes, b_map, kBTransposed ? column : 64 * at,
                              kBTransposed ? 64 * at : column, barrier);
            }
          }
          if (++stage == kStages) stage = 0, phase ^= 1;
        }
      }
    }
    __syncwarp();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const int wg = uniform(threadIdx.x / 128) - 1, lane = threadIdx.x & 31, warp = uniform(threadIdx.x / 32) & 3;
    const int part = kSharing > 1 ? wg * kRowTiles : 0, turn = kSharing > 1 ? 0 : wg;  // of a tile; of the tiles
    constexpr int turns = kSharing > 1 ? 1 : 2;
    const unsigned a_places = describe(tiles + part * kBoxBytes, kATransposed ? kBoxBytes : 0),
                   b_places = describe(tiles + kABoxes * kBoxBytes, kBTransposed ? kBoxBytes : 0);
    float sums[kRowTiles][kColumns / 2];
    // A warpgroup multiplies when the other has taken all stages of its tile: a barrier of a stage only tells one walk
    // through the ring from the next.
    if (turns > 1 && wg == 1) named_arrive<256>(3);
    int place = turn * steps;  // of the next tile's first stage in the walk of all
    for (int item = first + turn * step; item < items; item += turns * step, place += turns * steps) {
      int stage = place % kStages, before = 0;
      unsigned phase = place / kStages & 1;
      const auto multiply = [&](bool begins) {
        barrier_wait(full + 8 * stage, phase);
        multiply_begin();
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int t = 0; t < kRowTiles; ++t) {
            const unsigned at = stage * kStageBytes >> 4;
            const unsigned a = a_places + at + (t * kBoxBytes + i * (kATransposed ? 16 * 128 : 32) >> 4),
                           b = b_places + at + (i * (kBTransposed ? 16 * 128 : 32) >> 4);
            if (begins && i == 0) begin_tile(sums[t], a, b);
            else multiply_tile(sums[t], a, b);
          }
        multiply_commit();
      };
      // The stage is free in all blocks of the cluster that fill it.
      const auto release = [&](int released) {
        if (kCluster == 1 && lane == 0) barrier_arrive(empty + 8 * released);
        if (kCluster > 1 && lane < kCluster) arrive_in(lane, empty + 8 * released);
      };
      const auto advance = [&] {
        before = stage;
        if (++stage == kStages) stage = 0, phase ^= 1;
      };
      if (turns > 1) named_sync<256>(3 + wg);
      multiply(true);
      advance();
#pragma unroll 1
      for (int at = 1; at < steps; ++at) {
        multiply(false);
        multiply_wait<1>();
        release(before);
        advance();
      }
      if (turns > 1) named_arrive<256>(3 + (1 - wg));
      multiply_wait<0>();
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) pin(sums[t]);
      release(before);
      finish_tile(sums, tile_of(item, rank, row_tiles, column_tiles), part, wg, warp, lane, m, n, body, scratch);
    }
  }
  __syncwarp();
  if (kCluster > 1) cluster_sync();  // others may still arrive here
}
)";

constexpr std::string_view kEpilogue = R"(
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
)";

}  // namespace

std::string gemm_prelude(const WgmmaGemm& gemm) {
  const GemmTiles& t = gemm.tiles;
  const std::string sizes =
      fmt::format(kSizes, fmt::arg("row_tiles", t.row_tiles), fmt::arg("columns", t.columns),
                  fmt::arg("sharing", t.sharing), fmt::arg("cluster", t.cluster),
                  fmt::arg("stages", t.stages), fmt::arg("sums", gemm.sums),
                  fmt::arg("a_transposed", gemm.a_transposed), fmt::arg("b_transposed", gemm.b_transposed));
  return fmt::format("#define HALF_TYPE \"{}\"\n{}{}{}{}{}{}", half_text(gemm.dtype), kWgmmaTypes, sizes,
                     kWgmmaBarriers, kWgmmaProducts, kCopies,
                     wgmma_functions({.name = "tile",
                                      .columns = t.columns,
                                      .a_transposed = gemm.a_transposed,
                                      .b_transposed = gemm.b_transposed},
                                     gemm.dtype));
}

std::string gemm_kernel_text() { return std::string(kEpilogue) + std::string(kKernel); }

int gemm_threads() { return kWarpgroup * (kConsumers + 1); }

int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums) {
  const int64_t stage =
      (int64_t{tiles.rows()} + tiles.columns) * kDepth * (kRowBytes / kDepth) + kBarrierBytes;
  return kAlignmentBytes + tiles.stages * stage + int64_t{sums} * tiles.columns * kSumBytes;
}

}  // namespace smelt
