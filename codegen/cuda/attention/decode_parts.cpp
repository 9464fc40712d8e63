#include "codegen/cuda/attention/decode_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/row_text.h"

namespace smelt {
namespace {

/// Rows of a tile of mma.sync, which are all that a block can have.
constexpr int64_t kTileRows = 16;
/// Buffers of a warp, which are as in part_copies.cuh, and the most keys of a buffer in units of 16.
constexpr int kBuffers = 4, kMostLoads = 2;
/// Blocks that share the parts of a row through device memory.
constexpr int kMostSharers = 32;
/// Shared memory that is not dynamic, at most, in bytes.
constexpr int64_t kStaticBytes = 512;

/// The tiles of mma.sync that a warp multiplies.
constexpr AttentionTiles kWarpTiles = {
    .warps = kFewWarps, .row_tiles = 1, .columns = kPartKeys / 2, .blocks = 1};

int64_t div_up(int64_t count, int64_t divisor) { return (count + divisor - 1) / divisor; }

/// Returns the number of blocks that share the parts of a row.
int sharers_of(const FewTiles& tiles) { return tiles.blocks_of_rows(); }

bool fits(const AttentionKernel& attention, const FewTiles& tiles, int compute_capability) {
  return few_part_shared_bytes(attention, tiles) + kStaticBytes <= most_shared_bytes(compute_capability);
}

/// Reduces the keys of a buffer, then the rows, until the tiles fit.
void make_fit(const AttentionKernel& attention, FewTiles& tiles, int compute_capability) {
  while (!fits(attention, tiles, compute_capability)) {
    if (tiles.loads > 1)
      tiles.loads /= 2;
    else if (tiles.rows > 1)
      tiles.rows /= 2, tiles.loads = kMostLoads;
    else
      return;
  }
}

int rows_of(int64_t rows) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(rows, 1, kTileRows))));
}

/// Returns the functions that find the visible keys, whose units are parts. They are in a namespace because
/// kUnit and kParts are other numbers in the text of tiles.
std::string visible_keys_text() {
  return fmt::format("{}namespace visible {{\nconstexpr int kUnit = kPartKeys, kParts = 1;\n{}}}\n",
                     device::kAttentionDecodeRows, device::kAttentionDecodeKeys);
}

}  // namespace

int64_t few_part_shared_bytes(const AttentionKernel& attention, const FewTiles& tiles) {
  const int64_t pitch = 2 * div_up(attention.width, 16) * 16 + 16, threads = 32 * kFewWarps;
  const int64_t copies = kTileRows * pitch + int64_t{kFewWarps} * kBuffers * 16 * tiles.loads * pitch;
  const int64_t results = int64_t{kFewWarps} * tiles.rows * (attention.width + 2);
  const int64_t merges = int64_t{tiles.rows} * sharers_of(tiles) * kFewWarps * 4;
  const int64_t owners = (tiles.tickets > 0 ? 1 : sharers_of(tiles)) * threads;
  const int64_t totals = tiles.rows + div_up(tiles.rows * attention.width, owners) * threads;
  return copies + 4 * (results + merges + totals);
}

bool fits_few_parts(const AttentionKernel& attention, int compute_capability) {
  const FewTiles least{.rows = 1, .loads = 1, .parts = kMostSharers, .tickets = 1};
  return fits(attention, least, compute_capability);
}

FewTiles few_part_tiles(const AttentionKernel& attention, const DecodeAttention& few,
                        const Symbols& symbols) {
  const int64_t most = symbols.upper(attention.queries), group = group_of(attention);
  const int64_t queries = few.queries > 0 ? std::min(few.queries, most) : most;
  FewTiles tiles{
      .rows = rows_of(group * queries), .loads = kMostLoads, .unit = attention.part_keys, .blocks = 1};
  tiles.tensor_cores = true;
  const int64_t parts = div_up(symbols.upper(attention.keys), attention.part_keys);
  const bool clusters = few.compute_capability >= kClusterCapability;
  if (!few.alone)
    tiles.parts = static_cast<int>(std::clamp<int64_t>(parts, 1, clusters ? kBlocksOfRow : kMostSharers));
  if (clusters) tiles.cluster = tiles.parts;
  if (!clusters && tiles.parts > 1) tiles.tickets = 1;
  make_fit(attention, tiles, few.compute_capability);
  const int64_t row_tiles = div_up(queries * group, tiles.rows);
  if (tiles.tickets > 0)
    tiles.tickets = static_cast<int>(symbols.upper(attention.batch * attention.key_heads) * row_tiles);
  return tiles;
}

Dim few_part_partials(const AttentionKernel& attention, const FewTiles& tiles) {
  if (tiles.tickets == 0) return 0;
  return ceil_div(attention.keys, attention.part_keys) *
         (int64_t{tiles.tickets} * tiles.rows * (attention.width + 2));
}

std::string decode_parts_text(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  const FewTiles& tiles = *attention.few();
  std::string text =
      mma_functions_text({.part = AttentionPart::forward,
                          .dtype = kernel.params[static_cast<size_t>(attention.matrices[0].param)].dtype,
                          .head_size = attention.width,
                          .vector = attention.vector,
                          .tiles = kWarpTiles,
                          .hooks = print_hooks(kernel, HookUse::mma),
                          .has_places = attention.places >= 0,
                          .part_keys = attention.part_keys});
  text += fmt::format(
      "typedef Half Element;\nconstexpr int kBlockRows = {}, kLoads = {}, kGroup = {}, "
      "kKeyHeads = {};\nconstexpr bool kMaskedByHead = {}, kHasTickets = {};\n",
      tiles.rows, tiles.loads, group_of(attention), attention.key_heads.constant().value(),
      is_masked_by_head(kernel), tiles.tickets > 0);
  text += sharing_text(tiles) + visible_keys_text();
  for (const std::string_view part : {device::kAttentionMmaScores, device::kAttentionMmaParts,
                                      device::kAttentionDecodePartCopies, device::kAttentionDecodePartMerge,
                                      device::kAttentionDecodeTickets, device::kAttentionDecodePartBlock})
    text += part;
  return text;
}

}  // namespace smelt
