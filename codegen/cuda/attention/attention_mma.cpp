#include "codegen/cuda/attention/attention_mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Tiles for any number of rows.
constexpr int kSmallTileRows = 64;

/// The largest head size that tiles are for.
struct TilesOf {
  int64_t head_size;
  AttentionTiles tiles;
};

constexpr TilesOf kForwardTiles[] = {
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 4}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 2}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 32, .blocks = 1}},
    {64, {.warps = 4, .row_tiles = 2, .columns = 64, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 2, .columns = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 2, .columns = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 2, .columns = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 32, .blocks = 1}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 2}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 32, .blocks = 2}},
};
/// Forward tiles if keys are in parts, of which a tile of keys is half.
constexpr TilesOf kForwardPartTiles[] = {
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 2}},
    {64, {.warps = 4, .row_tiles = 2, .columns = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 2}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 64, .blocks = 1}},
    {256, {.warps = 1, .row_tiles = 1, .columns = 64, .blocks = 1}},
};
constexpr TilesOf kKeyGradientTiles[] = {
    {64, {.warps = 4, .row_tiles = 2, .columns = 128, .chunk = 32, .blocks = 2}},
    {64, {.warps = 4, .row_tiles = 2, .columns = 64, .chunk = 32, .blocks = 2}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1, .parts = 2}},
    {256, {.warps = 2, .row_tiles = 1, .columns = 16, .chunk = 16, .blocks = 1, .parts = 2}},
};
constexpr TilesOf kQueryGradientTiles[] = {
    {64, {.warps = 4, .row_tiles = 2, .columns = 64, .chunk = 64, .blocks = 2}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 64, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 4}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 3}},
    {64, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 2, .columns = 32, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
    {256, {.warps = 1, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
};
constexpr TilesOf kElementGradientTiles[] = {
    {128, {.warps = 4, .row_tiles = 1, .columns = 64, .chunk = 64, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 2}},
    {128, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
    {256, {.warps = 4, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
    {256, {.warps = 2, .row_tiles = 1, .columns = 32, .chunk = 32, .blocks = 1}},
};

std::span<const TilesOf> tiles_of(AttentionPart part, int part_keys) {
  switch (part) {
    case AttentionPart::forward:
      if (part_keys > 0) return kForwardPartTiles;
      return kForwardTiles;
    case AttentionPart::key_gradients:
      return kKeyGradientTiles;
    case AttentionPart::query_gradients:
      return kQueryGradientTiles;
    case AttentionPart::element_gradient:
      return kElementGradientTiles;
    case AttentionPart::gradients:  // of a CPU
      break;
  }
  return {};
}

/// Returns the functions of a forward kernel.
std::string forward_text(int part_keys) {
  const std::string scores = fmt::format("{}{}", device::kAttentionMmaTableRows, device::kAttentionMmaScores);
  if (part_keys == 0)
    return fmt::format("{}{}{}{}", scores, device::kAttentionMmaSoftmax, device::kAttentionMmaRest,
                       device::kAttentionMmaForward);
  return fmt::format("{}{}{}{}", scores, device::kAttentionMmaParts, device::kAttentionMmaRest,
                     device::kAttentionMmaPartForward);
}

std::string_view gradient_text(AttentionPart part) {
  switch (part) {
    case AttentionPart::key_gradients:
      return device::kAttentionMmaKeyGradients;
    case AttentionPart::query_gradients:
      return device::kAttentionMmaQueryGradients;
    case AttentionPart::element_gradient:
      return device::kAttentionMmaElementGradient;
    case AttentionPart::forward:
    case AttentionPart::gradients:
      break;
  }
  return {};
}

/// Returns whether the totals of the parts are in shared memory. There are too few registers for them and for
/// the sums of a part if heads are wide, or if a warp has many rows.
bool has_totals_in_memory(int64_t head_size, const AttentionTiles& tiles) {
  return head_size > 128 || tiles.row_tiles > 1;
}

/// Returns the constants of a kernel whose keys are in parts.
std::string part_constants(const MmaAttention& attention) {
  if (attention.part_keys == 0) return "";
  return fmt::format("constexpr int kPartKeys = {};\nconstexpr bool kTotalsInMemory = {};\n",
                     attention.part_keys, has_totals_in_memory(attention.head_size, attention.tiles));
}

/// Returns the types of what is stored of keys and values, and of the scales of codes.
std::string codes_text(const std::optional<MmaAttention::Codes>& codes) {
  return fmt::format("typedef {} Stored;\ntypedef {} Scale;\n#define HAS_CODES {:d}\n",
                     codes ? cuda_memory_type(codes->type) : "Half",
                     cuda_memory_type(codes ? codes->scales : DType::f32), codes.has_value());
}

/// The results for what the body reads: parameters, or their names.
std::string gradient_list(int count, std::string_view before) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += fmt::format("{}gradient{}", i == 0 && before == ", " ? "" : before, i);
  return list;
}

int gradients_of(const MmaAttention& attention) {
  if (attention.part == AttentionPart::key_gradients) return attention.hooks.column_gradients;
  return attention.part == AttentionPart::query_gradients ? attention.hooks.row_gradients : 0;
}

int64_t ceil_of(int64_t count, int64_t divisor) { return (count + divisor - 1) / divisor; }

}  // namespace

int64_t most_shared_bytes(int compute_capability) {
  switch (compute_capability) {
    case 80:
    case 87:
      return 163 << 10;
    case 90:
    case 100:
    case 103:
      return 227 << 10;
    default:
      return 99 << 10;
  }
}

std::vector<AttentionTiles> mma_tiles(AttentionPart part, int64_t head_size, int compute_capability,
                                      int64_t rows, int part_keys) {
  std::vector<AttentionTiles> found;
  int64_t row_size = 0;  // of the first that are large enough
  for (const TilesOf& row : tiles_of(part, part_keys)) {
    if (head_size > row.head_size || (row_size > 0 && row.head_size > row_size)) continue;
    row_size = row.head_size;
    const bool fits = attention_mma_shared_bytes(part, head_size, row.tiles, part_keys) <=
                      most_shared_bytes(compute_capability);
    if (fits && (row.tiles.rows() <= kSmallTileRows || row.tiles.rows() <= rows)) found.push_back(row.tiles);
  }
  if (found.empty()) fail_with(Status::internal, "attention: no kernel has heads of {} elements", head_size);
  return found;
}

std::vector<AttentionTileRows> mma_tile_rows(AttentionPart part, int64_t head_size, int compute_capability,
                                             int64_t rows, int part_keys) {
  std::vector<AttentionTileRows> sizes;
  for (const AttentionTiles& tiles : mma_tiles(part, head_size, compute_capability, rows, part_keys)) {
    const bool small = tiles.rows() <= kSmallTileRows;
    const AttentionTileRows size{small ? 0 : tiles.rows(), small ? kSmallTileRows : tiles.rows()};
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

std::string mma_functions_text(const MmaAttention& attention) {
  const AttentionTiles& tiles = attention.tiles;
  std::string text = hooks_text(attention.hooks);
  text += fmt::format(
      "#define MMA_TYPE \"{}\"\n#define ROW_GRADIENTS {}\n#define COLUMN_GRADIENTS {}\n"
      "#define GRADIENT_PARAMETERS {}\n#define GRADIENT_VALUES {}\ntypedef unsigned short Half;\n",
      attention.dtype == DType::bf16 ? "bf16" : "f16", attention.hooks.row_gradients,
      attention.hooks.column_gradients, gradient_list(gradients_of(attention), ", float* "),
      gradient_list(gradients_of(attention), ", "));
  text += fmt::format(
      "constexpr int kHead = {}, kVector = {}, kWarps = {}, kRowTiles = {}, kColumns = {}, kChunk = {}, "
      "kBlocks = {}, kParts = {}, kElement = {};\nconstexpr bool kHasRest = {}, kHasPlaces = {}, "
      "kKeepsBatch = {}, kKeepsHead = {}, kRowsAreKeys = {};\n",
      attention.head_size, attention.vector, tiles.warps, tiles.row_tiles, tiles.columns, tiles.chunk,
      tiles.blocks, tiles.parts, attention.element, attention.has_rest, attention.has_places,
      attention.keeps_batch, attention.keeps_head, attention.part == AttentionPart::key_gradients);
  text += part_constants(attention) + codes_text(attention.codes);
  return text.append(device::kAttentionMmaInstructions)
      .append(device::kAttentionMmaTiles)
      .append(device::kAttentionMmaElements);
}

std::string attention_mma_text(const MmaAttention& attention) {
  std::string text = mma_functions_text(attention);
  if (attention.part == AttentionPart::forward) return text += forward_text(attention.part_keys);
  return text.append(device::kAttentionMmaGradients).append(gradient_text(attention.part));
}

int64_t attention_mma_shared_bytes(AttentionPart part, int64_t head_size, const AttentionTiles& tiles,
                                   int part_keys) {
  const int64_t unit = 16 * tiles.parts;
  const int64_t pitch = 2 * ceil_of(head_size, unit) * unit + 16, rows = tiles.rows() * pitch,
                columns = tiles.columns * pitch;
  switch (part) {
    case AttentionPart::forward:
      if (part_keys > 0 && has_totals_in_memory(head_size, tiles))
        return rows + 2 * columns + 4 * tiles.rows() * ceil_of(head_size, unit) * unit;
      return rows + 2 * columns;
    case AttentionPart::key_gradients:
      return 2 * rows + 2 * (2 * columns + 8 * tiles.columns);
    case AttentionPart::query_gradients:
      return 2 * rows + 4 * columns + 8 * tiles.rows();
    case AttentionPart::element_gradient:
      return 2 * rows + 2 * columns + 8 * tiles.rows();
    case AttentionPart::gradients:
      break;
  }
  return 0;
}

}  // namespace smelt
