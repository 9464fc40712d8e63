#include "codegen/cuda/gemm/gemm_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {
namespace {

constexpr int kWarpgroups = 5, kWarpgroup = 128;
constexpr int kWide = 128;                   // columns of the first wgmma of a tile
constexpr int kDepth = 64, kRowBytes = 128;  // of a stage along k; of a row of a box
constexpr int kBarrierBytes = 16;            // of a stage
constexpr int kProductBytes = 2;             // of a product in shared memory
constexpr int kSumBytes = 8 * 4;             // of a column: a number for each warp that runs the epilogue

/// Returns the functions that multiply all columns of a tile, in one or two wgmma instructions.
std::string products(const WgmmaGemm& gemm) {
  const auto functions = [&](std::string name, int columns) {
    return wgmma_functions({.name = std::move(name),
                            .columns = columns,
                            .a_transposed = gemm.a_transposed,
                            .b_transposed = gemm.b_transposed},
                           gemm.dtype);
  };
  const int rest = gemm.tiles.columns - kWide;
  return fmt::format("#define REST {}\n{}{}", rest, functions("wide", kWide),
                     rest > 0 ? functions("rest", rest) : "");
}

}  // namespace

std::string gemm_prelude(const WgmmaGemm& gemm) {
  const GemmTiles& t = gemm.tiles;
  const std::string constants = fmt::format(
      "\nconstexpr int kColumns = {}, kCluster = {}, kStages = {}, kSums = {}, kThreads = {};\n"
      "constexpr bool kATransposed = {}, kBTransposed = {};\n",
      t.columns, t.cluster, t.stages, gemm.sums, gemm_threads(), gemm.a_transposed, gemm.b_transposed);
  return fmt::format("#define HALF_TYPE \"{}\"\n{}{}{}{}{}{}{}{}{}{}{}{}", half_text(gemm.dtype),
                     device::kHalves, device::kWgmmaTypes, constants, device::kGemmSizes,
                     device::kSharedMemory, device::kWgmmaBarriers, device::kWgmmaProducts,
                     device::kWgmmaCopies, device::kGemmCopies, device::kGemmTiles, device::kGemmParts,
                     products(gemm));
}

std::string gemm_kernel_text() { return fmt::format("{}{}", device::kGemmEpilogue, device::kGemmFunction); }

int gemm_threads() { return kWarpgroup * kWarpgroups; }

int64_t gemm_shared_bytes(const GemmTiles& tiles, int sums) {
  const int64_t stage =
      (int64_t{GemmTiles::kRows} + tiles.columns) * kDepth * (kRowBytes / kDepth) + kBarrierBytes;
  const int64_t products = int64_t{GemmTiles::kRows} * tiles.columns * kProductBytes;
  return kAlignmentBytes + tiles.stages * stage + products + int64_t{sums} * tiles.columns * kSumBytes;
}

}  // namespace smelt
