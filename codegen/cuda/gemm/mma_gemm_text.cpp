#include "codegen/cuda/gemm/mma_gemm_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {
namespace {

/// Column sums: rows of a tile that share a number per column, and its bytes.
constexpr int64_t kPieceRows = 16, kColumnSumBytes = 4;
constexpr int64_t kHalfBytes = 2;

/// Returns the bytes of a stage of the ring buffer: a tile of A and one of B.
int64_t mma_stage_bytes(const MmaTiles& tiles) {
  return (int64_t{tiles.rows} + tiles.columns) * tiles.depth * kHalfBytes;
}

}  // namespace

std::string mma_gemm_prelude(const MmaGemm& gemm) {
  const MmaTiles& t = gemm.tiles;
  const std::string constants = fmt::format(
      "\nconstexpr int kRows = {}, kColumns = {}, kDepth = {}, kStages = {};\n"
      "constexpr int kWarpRows = {}, kWarpColumns = {}, kSums = {};\n"
      "constexpr bool kATransposed = {}, kBTransposed = {}, kRounded = {}, kBatched = {}, kOneTile = {};\n"
      "constexpr bool kBytes = {};\ntypedef {} Sum;\n",
      t.rows, t.columns, t.depth, t.stages, t.warp_rows, t.warp_columns, gemm.sums, gemm.a_transposed,
      gemm.b_transposed, gemm.rounded, gemm.batched, t.one_tile(), gemm.has_bytes(),
      gemm.has_bytes() ? "int" : "float");
  return fmt::format("#define HALF_TYPE \"{}\"\n{}{}{}{}{}{}{}{}{}", half_text(gemm.dtype), constants,
                     device::kMmaGemmSizes, device::kSharedMemory, device::kHalves,
                     device::kMmaGemmInstructions, device::kGemmTiles, device::kMmaGemmLanes,
                     device::kMmaGemmCopies, device::kMmaGemmProducts);
}

std::string mma_gemm_function() { return std::string(device::kMmaGemmFunction); }

std::string move_to_product(const std::vector<ProductAxis>& axes) {
  std::string text;
  for (size_t i = axes.size(); i-- > 0;) {
    text += i == 0 ? "{ const int i = product;"
                   : fmt::format("{{ const int i = product % (int){0}; product /= (int){0};", axes[i].extent);
    for (const auto& [pointer, stride] : axes[i].strides)
      text += fmt::format(" {} += (long long)i * {};", pointer, stride);
    text += " } ";
  }
  return text;
}

int64_t mma_shared_bytes(const MmaTiles& tiles, int sums) {
  return tiles.stages * mma_stage_bytes(tiles) +
         sums * (tiles.rows / kPieceRows) * tiles.columns * kColumnSumBytes;
}

}  // namespace smelt
