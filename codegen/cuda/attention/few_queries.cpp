#include "codegen/cuda/attention/few_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/attention/few_queries_kernel.h"
#include "codegen/cuda/attention/print_hooks.h"
#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/mask_intervals.h"

namespace smelt {
namespace {

/// Rows that a block's registers hold.
constexpr int64_t kMostRows = 8;
constexpr int kMostSplits = 32;

/// Of a block with so many rows or fewer: lanes' loads of keys and of values, blocks of a multiprocessor, and
/// the keys that blocks share by the unit. Few rows have few blocks, which should have few keys each; many
/// have enough, and then each of them costs its beginning and its end. Measured on an H200.
struct RowsAndTiles {
  int rows, loads, blocks, unit;
};
constexpr RowsAndTiles kTiles[] = {{2, 8, 2, 64}, {4, 4, 3, 128}, {8, 4, 2, 128}};

const RowsAndTiles& tiles_of(int rows) {
  return *std::ranges::find_if(kTiles, [&](const RowsAndTiles& tiles) { return rows <= tiles.rows; });
}

constexpr int64_t kPieceBytes = 16;  // bytes

/// Registers hold powers of two, so that lanes can halve sums among them.
int power_of(int64_t rows) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(rows, 1, kMostRows))));
}

int64_t group_of(const AttentionKernel& attention) {
  return *attention.heads.constant() / *attention.key_heads.constant();
}

/// Whether what a value is made of differs from head to head.
bool differs_by_head(const Kernel& kernel, int id) {
  const Instruction& x = kernel.instructions[static_cast<size_t>(id)];
  const auto heads = static_cast<size_t>(kernel.attention->axes[1]);
  if (x.kind == Instruction::Kind::index && x.axis == static_cast<int>(heads)) return true;
  if (heads < x.access.strides.size() && !x.access.strides[heads].is_zero()) return true;
  return std::ranges::any_of(x.operands, [&](int operand) { return differs_by_head(kernel, operand); });
}

}  // namespace

FewTiles few_tiles(const AttentionKernel& attention, int64_t queries, const Symbols& symbols) {
  const int64_t group = group_of(attention);
  const bool shares = queries > 0;
  const int64_t usual = attention.queries.constant().value_or(1);  // a symbol is one where tokens are made
  FewTiles tiles;
  tiles.rows = power_of(group * (shares ? usual : symbols.upper(attention.queries)));
  const RowsAndTiles& best = tiles_of(tiles.rows);
  tiles.loads = best.loads, tiles.blocks = best.blocks, tiles.unit = best.unit;
  if (!shares) return tiles;
  const int64_t keys = symbols.upper(attention.keys);
  tiles.splits = static_cast<int>(std::clamp<int64_t>((keys + tiles.unit - 1) / tiles.unit, 1, kMostSplits));
  const int64_t row_tiles = (queries * group + tiles.rows - 1) / tiles.rows;
  if (tiles.splits > 1)
    tiles.tickets = static_cast<int>(symbols.upper(attention.batch * attention.key_heads) * row_tiles);
  return tiles;
}

std::vector<FewTiles> lighter_few_tiles(const FewTiles& tiles) {
  std::vector<FewTiles> lighter = {tiles};
  while (lighter.back().loads > 1) {
    FewTiles next = lighter.back();
    next.loads /= 2;
    lighter.push_back(next);
  }
  return lighter;
}

Dim few_partials(const AttentionKernel& attention, const FewTiles& tiles) {
  if (tiles.splits < 2) return 0;
  const int64_t width = attention.width + 2;
  return Dim(int64_t{tiles.tickets}) * (int64_t{tiles.splits} * tiles.rows * width);
}

std::string few_queries_text(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  const FewTiles& tiles = *attention.few();
  const DType dtype = kernel.params[static_cast<size_t>(attention.matrices[0].param)].dtype;
  const ScoreMask mask = score_mask(kernel);
  std::string text = hooks_text(print_hooks(kernel, HookUse::mma));
  text += fmt::format(
      "typedef {} Element;\nconstexpr int kHead = {}, kVector = {}, kRows = {}, kLoads = {}, kUnit = {}, "
      "kSplits = {}, kGroup = {}, kKeyHeads = {};\nconstexpr int kWarps = {}, kThreads = 32 * kWarps, "
      "kBlocks = {};\nconstexpr bool kMaskedByHead = {}, kHasPlaces = {};\n",
      cuda_memory_type(dtype), attention.width,
      std::min<int64_t>(attention.vector, kPieceBytes / size_of(dtype)), tiles.rows, tiles.loads, tiles.unit,
      tiles.splits, group_of(attention), attention.key_heads.constant().value(), kFewWarps, tiles.blocks,
      mask.instruction >= 0 && differs_by_head(kernel, mask.instruction), attention.places >= 0);
  for (const std::string_view part : {few::kLayout, few::kKeys, few::kScoresOfStep, few::kSums, few::kBlock})
    text += part;
  return text;
}

}  // namespace smelt
