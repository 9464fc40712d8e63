#include "codegen/cuda/gemm/gemm_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {
namespace {

constexpr int kConsumers = 2, kWarpgroup = 128;
constexpr int kDepth = 64, kRowBytes = 128;    // of a stage along k; of a row of a box
constexpr int kBarrierBytes = 16;              // of a stage
constexpr int kSumBytes = 4 * kConsumers * 4;  // of a column: a number for each warp

}  // namespace

std::string gemm_prelude(const WgmmaGemm& gemm) {
  const GemmTiles& t = gemm.tiles;
  const std::string constants = fmt::format(
      "\nconstexpr int kRowTiles = {}, kColumns = {}, kSharing = {}, kCluster = {};\n"
      "constexpr int kStages = {}, kSums = {}, kThreads = {};\n"
      "constexpr bool kATransposed = {}, kBTransposed = {};\n",
      t.row_tiles, t.columns, t.sharing, t.cluster, t.stages, gemm.sums, gemm_threads(), gemm.a_transposed,
      gemm.b_transposed);
  return fmt::format("#define HALF_TYPE \"{}\"\n{}{}{}{}{}{}{}{}{}{}{}", half_text(gemm.dtype),
                     device::kHalves, device::kWgmmaTypes, constants, device::kGemmSizes,
                     device::kSharedMemory, device::kWgmmaBarriers, device::kWgmmaProducts,
                     device::kWgmmaCopies, device::kGemmCopies, device::kGemmTiles,
                     wgmma_functions({.name = "tile",
                                      .columns = t.columns,
                                      .a_transposed = gemm.a_transposed,
                                      .b_transposed = gemm.b_transposed},
                                     gemm.dtype));
}

std::string gemm_kernel_text() { return fmt::format("{}{}", device::kGemmEpilogue, device::kGemmFunction); }

int gemm_threads() { return kWarpgroup * (kConsumers + 1); }

int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums) {
  const int64_t stage =
      (int64_t{tiles.rows()} + tiles.columns) * kDepth * (kRowBytes / kDepth) + kBarrierBytes;
  return kAlignmentBytes + tiles.stages * stage + int64_t{sums} * tiles.columns * kSumBytes;
}

}  // namespace smelt
