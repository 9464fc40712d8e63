#include "codegen/cuda/byte_gemm/byte_gemm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {
namespace {

constexpr int kWeights = 128, kDepth = 64;                        // columns of a tile; terms of a stage
constexpr int kFewestRows = 32, kMostRows = 128;                  // of A in a tile
constexpr int kMostStages = 16, kRowStages = 5, kMostBlocks = 8;  // blocks of a cluster
constexpr int kSumsPitch = kWeights + 4;                          // floats
/// A block's shared memory on sm_90, and the bytes of its mbarriers.
constexpr int64_t kSharedBytes = 227 << 10, kBarriers = 16;
/// The least stages of a block's share of the terms; and what one more split costs, as a part of the time of
/// a tile, because the sums of all blocks are exchanged; and what it costs to read A from the L2 cache, if no
/// other block of the cluster needs the same rows.
constexpr int64_t kLeastStages = 4;
constexpr double kCostOfSplit = 0.02, kCostOfRows = 0.1;

int64_t rows_bytes(int rows) { return int64_t{rows} * kDepth * 2; }

/// A cluster runs on one group of about kGroup multiprocessors (a GPC); in one group, two may be missing.
constexpr int kGroup = 16;

int clusters_at_once(int size, int multiprocessors) {
  if (size == 2) return multiprocessors / 2;
  return std::max(1, multiprocessors / kGroup * (kGroup / size) - (kGroup % size < 2 ? 1 : 0));
}

/// Returns the time of `rows` rows of n columns, in units of the time that one block needs for a tile.
double time_of(const SmallMTiles& tiles, int64_t rows, int64_t n, int multiprocessors) {
  const int64_t columns = int64_t{tiles.weights} * tiles.together,
                clusters = (n + columns - 1) / columns * ((rows + tiles.rows - 1) / tiles.rows),
                at_once = clusters_at_once(tiles.together * tiles.splits, multiprocessors),
                turns = (clusters + at_once - 1) / at_once;
  const double others = kCostOfSplit * (tiles.splits - 1) + kCostOfRows / tiles.together;
  return static_cast<double>(turns) * (1.0 / tiles.splits + others);
}

/// Sets the blocks of a cluster to those of the least time; `most_splits` of them compute a tile.
void choose_cluster(SmallMTiles& tiles, int64_t rows, int64_t n, int64_t k, int most_splits,
                    int multiprocessors) {
  SmallMTiles best = tiles;
  best.splits = 1, best.together = 2;
  for (const int together : {2, 4})
    for (int splits = 1; splits <= most_splits && splits * together <= kMostBlocks; ++splits) {
      tiles.together = together, tiles.splits = splits;
      const bool has_terms = splits == 1 || k >= kLeastStages * kDepth * splits;
      if (has_terms && time_of(tiles, rows, n, multiprocessors) < time_of(best, rows, n, multiprocessors))
        best = tiles;
    }
  tiles = best;
}

}  // namespace

int64_t byte_gemm_bytes(const SmallMTiles& tiles) {
  return kAlignmentBytes + tiles.depth * (kWeights * kDepth + kBarriers) +
         kRowStages * (rows_bytes(tiles.rows) + kBarriers) +
         tiles.rows * kSumsPitch * int64_t{sizeof(float)} + kBarriers;
}

SmallMTiles byte_gemm_tiles(int64_t rows, int64_t n, int64_t k, int parts, int multiprocessors,
                            bool in_order) {
  SmallMTiles tiles{.weights = kWeights, .depth = kMostStages, .parts = parts};
  tiles.rows = static_cast<int>(
      std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(rows, kFewestRows, kMostRows))));
  while (byte_gemm_bytes(tiles) > kSharedBytes) --tiles.depth;
  choose_cluster(tiles, rows, n, k, in_order ? 1 : kMostBlocks, multiprocessors);
  return tiles;
}

int byte_gemm_blocks(const SmallMTiles& tiles, int multiprocessors) {
  const int size = tiles.together * tiles.splits;
  return clusters_at_once(size, multiprocessors) * size;
}

std::string byte_gemm_prelude(DType dtype, const SmallMTiles& tiles) {
  return fmt::format(
      "#define ROWS {}\n#define COLUMNS {}\n#define PARTS {}\n#define TILES {}\n#define SPLITS {}\n"
      "#define STAGES {}\n#define ROW_STAGES {}\n"
      "#define HALF_TYPE \"{}\"\n#define WIDEN_TWO widen_two_{}\n{}{}{}{}{}{}{}{}",
      tiles.rows, tiles.weights / tiles.parts, tiles.parts, tiles.together, tiles.splits, tiles.depth,
      kRowStages, half_text(dtype), cuda_memory_type(dtype), device::kHalves, device::kWgmmaTypes,
      device::kSharedMemory, device::kWgmmaBarriers, device::kWgmmaProducts, device::kWgmmaCopies,
      device::kByteGemmWidenTwo,
      wgmma_functions({.name = "tile", .columns = tiles.rows, .a_in_registers = true}, dtype));
}

std::string byte_gemm_function() { return std::string(device::kByteGemmFunction); }

}  // namespace smelt
