#include "codegen/cuda/attention/decode_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/cuda/attention/decode_parts.h"
#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/row_text.h"
#include "codegen/kernel_passes/mask_intervals.h"

namespace smelt {
namespace {

/// Rows that a block's registers hold.
constexpr int64_t kMostRows = 8;

/// The tiles of a block with at most `rows` rows: loads of keys and of values in flight per lane, and blocks
/// per multiprocessor. Measured on an H200.
struct RowsAndTiles {
  int rows, loads, blocks;
};
constexpr RowsAndTiles kTiles[] = {{2, 8, 2}, {4, 4, 3}, {8, 4, 2}};
/// The tiles for few rows and up to kFewKeys keys, where the begin and end of a block take as long as its
/// keys.
constexpr RowsAndTiles kTilesOfFewKeys = {2, 4, 4};
constexpr int64_t kFewKeys = 256;
/// Elements of the largest head for which three blocks run on a multiprocessor, on tensor cores. With larger
/// ones a thread needs more registers, and two blocks run.
constexpr int64_t kWideHead = 128;
/// Keys that blocks share by the unit.
constexpr int kUnit = 64;

const RowsAndTiles& tiles_of(int rows, int64_t keys) {
  if (rows <= kTilesOfFewKeys.rows && keys <= kFewKeys) return kTilesOfFewKeys;
  return *std::ranges::find_if(kTiles, [&](const RowsAndTiles& tiles) { return rows <= tiles.rows; });
}

constexpr int64_t kPieceBytes = 16;  // bytes

/// Parts of a row's keys. The blocks of a cluster take one each.
constexpr int kMostParts = kBlocksOfRow, kMostTickets = 32;

/// Registers hold powers of two, so that lanes can halve sums among them.
int power_of(int64_t rows) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(rows, 1, kMostRows))));
}

/// Returns whether the operands of a value differ from head to head.
bool differs_by_head(const Kernel& kernel, int id) {
  const Instruction& x = kernel.instructions[static_cast<size_t>(id)];
  const auto heads = static_cast<size_t>(kernel.attention->axes[1]);
  if (x.kind == Instruction::Kind::index && x.axis == static_cast<int>(heads)) return true;
  if (heads < x.access.strides.size() && !x.access.strides[heads].is_zero()) return true;
  return std::ranges::any_of(x.operands, [&](int operand) { return differs_by_head(kernel, operand); });
}

/// Tiles of 16 keys per step of a warp, and blocks per multiprocessor, on tensor cores where keys are codes.
/// A tile of codes has half the bytes, so a step has two if the registers suffice.
struct LoadsAndBlocks {
  int loads, blocks;
};
constexpr LoadsAndBlocks kTilesOfCodes[] = {{2, 3}, {2, 2}, {1, 3}, {1, 2}};

DType param_type(const Kernel& kernel, const AttentionKernel::Matrix& matrix) {
  return kernel.params[static_cast<size_t>(matrix.param)].dtype;
}

/// Returns `tiles` for tensor cores, or nothing if these cannot multiply the kernel's elements.
std::optional<FewTiles> tensor_tiles(const FewTiles& tiles, const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  const DType dtype = param_type(kernel, attention.matrices[0]);
  if (size_of(dtype) * attention.vector < kPieceBytes || size_of(dtype) != 2) return {};
  FewTiles on_tensor_cores = tiles;
  on_tensor_cores.tensor_cores = true;
  on_tensor_cores.loads = 1, on_tensor_cores.blocks = attention.width > kWideHead ? 2 : 3;
  return on_tensor_cores;
}

std::string lane_sums_text() {
  return fmt::format("{}{}{}", device::kAttentionDecodeLanes, device::kAttentionDecodeScores,
                     device::kAttentionDecodeLaneSums);
}

std::string tile_sums_text(DType dtype) {
  return fmt::format(
      "#define MMA_TYPE \"{}\"\n{}{}#undef MMA_TYPE\n", dtype == DType::bf16 ? "bf16" : "f16",
      fmt::format("{}{}", device::kAttentionDecodeInstructions, device::kAttentionDecodeCodeNumbers),
      device::kAttentionDecodeTileSums);
}

/// Returns the types of what is stored of keys and values, and of the scales of codes.
std::string stored_types_text(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  const bool has_codes = !attention.scales.empty();
  const DType stored = param_type(kernel, attention.matrices[1]);
  return fmt::format(
      "typedef {} Stored;\ntypedef {} Scale;\nconstexpr bool kHasCodes = {}, kIntegerCodes = {};\n"
      "constexpr int kWidest = {};\n",
      cuda_memory_type(stored),
      cuda_memory_type(has_codes ? param_type(kernel, attention.scales[0]) : DType::f32), has_codes,
      stored == DType::i8, has_codes ? codes_access_bytes(kernel) : 0);
}

}  // namespace

int64_t group_of(const AttentionKernel& attention) {
  return *attention.heads.constant() / *attention.key_heads.constant();
}

bool is_masked_by_head(const Kernel& kernel) {
  const ScoreMask mask = score_mask(kernel);
  return mask.instruction >= 0 && differs_by_head(kernel, mask.instruction);
}

std::string sharing_text(const FewTiles& tiles) {
  const std::string alone = "namespace sharing {\n" + row_blocks_text(1) + "}\n";
  if (tiles.cluster == 1)
    return alone + fmt::format("constexpr int kBlocksOfRows = {0}, kSharers = {0};\n",
                               tiles.tickets > 0 ? tiles.parts : 1);
  return fmt::format(
      "constexpr int kBlocksOfRows = {0};\n#ifdef __CUDA_ARCH__\nnamespace sharing {{\n{1}}}\n"
      "constexpr int kSharers = {0};\n#else\n{2}constexpr int kSharers = 1;\n#endif\n",
      tiles.cluster, row_blocks_text(tiles.cluster), alone);
}

FewTiles few_tiles(const AttentionKernel& attention, const DecodeAttention& few, const Symbols& symbols) {
  if (attention.part_keys > 0) return few_part_tiles(attention, few, symbols);
  const int64_t group = group_of(attention);
  const bool divides = few.queries > 0;
  const int64_t usual = attention.queries.constant().value_or(1);  // a symbol is one where tokens are made
  FewTiles tiles;
  tiles.rows = power_of(group * (divides ? usual : symbols.upper(attention.queries)));
  const int64_t keys = symbols.upper(attention.keys);
  const RowsAndTiles& best = tiles_of(tiles.rows, keys);
  tiles.loads = best.loads, tiles.blocks = best.blocks, tiles.unit = kUnit;
  if (!divides) return tiles;
  const bool clusters = few.compute_capability >= kClusterCapability;
  const int64_t units = (keys + kUnit - 1) / kUnit;
  tiles.parts = static_cast<int>(std::clamp<int64_t>(units, 1, clusters ? kMostParts : kMostTickets));
  if (few.alone || tiles.parts == 1) return tiles;
  if (clusters) {
    tiles.cluster = tiles.parts;
    return tiles;
  }
  const int64_t row_tiles = (few.queries * group + tiles.rows - 1) / tiles.rows;
  tiles.tickets = static_cast<int>(symbols.upper(attention.batch * attention.key_heads) * row_tiles);
  return tiles;
}

std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles, const Kernel& kernel) {
  if (kernel.attention->part_keys > 0) return {tiles};
  std::vector<FewTiles> all;
  if (auto on_tensor_cores = tensor_tiles(tiles, kernel)) {
    if (kernel.attention->scales.empty()) all.push_back(*on_tensor_cores);
    for (const LoadsAndBlocks& each : kTilesOfCodes) {
      if (kernel.attention->scales.empty() || each.blocks > on_tensor_cores->blocks) continue;
      all.push_back(*on_tensor_cores);
      all.back().loads = each.loads, all.back().blocks = each.blocks;
    }
  }
  for (FewTiles lighter = tiles; lighter.loads > 0; lighter.loads /= 2) all.push_back(lighter);
  return all;
}

Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles) {
  if (attention.part_keys > 0) return few_part_partials(attention, tiles);
  const int64_t width = attention.width + 2;
  return Dim(int64_t{tiles.tickets}) * (int64_t{tiles.parts} * kFewWarps * tiles.rows * width);
}

std::string decode_attention_text(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  if (attention.part_keys > 0) return decode_parts_text(kernel);
  const FewTiles& tiles = *attention.few();
  const DType dtype = param_type(kernel, attention.matrices[0]);
  std::string text = hooks_text(print_hooks(kernel, HookUse::mma));
  text += fmt::format(
      "typedef {} Element;\nconstexpr int kHead = {}, kVector = {}, kRows = {}, kLoads = {}, kUnit = {}, "
      "kParts = {}, kGroup = {}, kKeyHeads = {};\nconstexpr int kWarps = {}, kThreads = 32 * kWarps, "
      "kBlocks = {};\nconstexpr bool kMaskedByHead = {}, kHasPlaces = {}, kHasTickets = {};\n",
      cuda_memory_type(dtype), attention.width,
      std::min<int64_t>(attention.vector, kPieceBytes / size_of(dtype)), tiles.rows, tiles.loads, tiles.unit,
      tiles.parts, group_of(attention), attention.key_heads.constant().value(), kFewWarps, tiles.blocks,
      is_masked_by_head(kernel), attention.places >= 0, tiles.tickets > 0);
  text += stored_types_text(kernel) + sharing_text(tiles);
  text.append(device::kAttentionDecodeLayout)
      .append(device::kAttentionDecodeRows)
      .append(device::kAttentionDecodeResults)
      .append(device::kAttentionDecodeKeys);
  text += tiles.tensor_cores ? tile_sums_text(dtype) : lane_sums_text();
  return text.append(device::kAttentionDecodeTickets).append(device::kAttentionDecodeBlock);
}

}  // namespace smelt
