#include "codegen/cuda/small_m/small_m_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

constexpr int64_t kLanes = 32, kWarps = kSmallMThreads / kLanes, kPieceBytes = 16;
/// If sums are chains: elements of a row between slots and in the padding after a row, and bytes of the
/// barriers of a slot.
constexpr int64_t kLongSlot = 128, kShortSlot = 64, kSlotPadding = 16, kBarrierBytes = 16;
/// Rows of weights in a slot from which on it is short.
constexpr int64_t kManyRows = 128;
/// Between columns of partial sums in shared memory, beyond the weights: the four lanes that hold
/// neighbouring columns then write to different banks.
constexpr int64_t kPadding = 4;
/// Elements between rows of A in shared memory beyond those that their length needs.
constexpr int64_t kStagedPadding = 32;
/// Returns the rounds whose pieces of A are in registers or in flight: a round takes less time than an access
/// of the L2, and more than one of shared memory.
int rounds_ahead(const SmallMTiles& tiles, bool staged, const SmallMWeights& weights) {
  if (staged) return 2;
  return std::max(2, (tiles.rows == 8 ? 6 : 4) * weights.bits() / 16);
}

/// Returns the elements along k in a slot of the ring buffer, if sums are chains.
int64_t slot_elements(const SmallMTiles& tiles) {
  return tiles.warps * tiles.weights < kManyRows ? kLongSlot : kShortSlot;
}

/// Returns the bytes of the ring buffer and its barriers, if sums are chains.
int64_t chain_ring_bytes(const SmallMTiles& tiles, bool staged) {
  const int64_t lines = tiles.warps * tiles.weights + (staged ? 0 : tiles.rows);
  const int64_t slot = lines * (slot_elements(tiles) + kSlotPadding) * int64_t{sizeof(uint16_t)};
  return tiles.depth * (slot + kBarrierBytes);
}

/// Returns the bytes of shared memory for 16 bytes of weights in flight: with the words that hold their scale
/// and, if there are any, their zero.
int64_t piece_bytes(const SmallMWeights& weights) {
  constexpr int64_t kWord = 4;
  if (!weights.packed) return kPieceBytes;
  return kPieceBytes + kWord + (weights.packed->zeros >= 0 ? kWord : 0);
}

/// Returns the number of adjacent lanes, of the four of a row, whose scales and zeros are in one aligned
/// word: those of the same group, or of two groups if the first one's number is even in every row.
int scale_lanes(const SmallMWeights& weights) {
  constexpr int64_t kLanesOfRow = 4;
  if (!weights.packed) return 1;
  const PackedOperand& packed = *weights.packed;
  const auto is_even = [](const Dim& pitch) { return pitch.constant().value_or(1) % 2 == 0; };
  const bool pairs = is_even(packed.scales_pitch) && (packed.zeros < 0 || is_even(packed.zeros_pitch));
  const int64_t lanes = packed.group / (kPieceBytes * 8 / weights.bits());
  if (lanes % kLanesOfRow == 0) return kLanesOfRow;
  return std::has_single_bit(static_cast<uint64_t>(lanes)) ? static_cast<int>(pairs ? 2 * lanes : lanes) : 1;
}

}  // namespace

int SmallMWeights::bits() const { return packed ? find_packed_format(packed->format)->bits : bytes ? 8 : 16; }

bool widens(const PackedOperand& packed) {
  const PackedFormat& format = *find_packed_format(packed.format);
  const bool has_text =
      format.name == "int4" || format.name == "int8" || (format.name == "fp8" && packed.zeros < 0);
  return has_text && packed.group % (kPieceBytes * 8 / format.bits) == 0;
}

std::string small_m_macros(DType dtype, const SmallMTiles& tiles, bool staged, const SmallMWeights& weights) {
  const int64_t columns = tiles.weights / tiles.parts,
                sharers = tiles.warps > 0 ? kLanes : kSmallMThreads;  // of the elements of a tile
  return fmt::format(
      "#define SM static __device__ __forceinline__\n#define MMA_TYPE \"{}\"\n#define ROWS {}\n"
      "#define WEIGHTS {}\n#define PIECES {}\n#define PARTS {}\n#define COLUMNS {}\n#define ITEMS {}\n"
      "#define PITCH {}\n#define DEPTH {}\n#define AHEAD {}\n#define BYTES {}\n#define WIDEN_BYTES "
      "widen_{}\n#define WARPS {}\n#define SLOT {}\n#define STAGED {}\n"
      "#define WEIGHT_BITS {}\n#define GROUP {}\n#define ZEROS {}\n#define WIDEN_WORD widen_{}_{}\n"
      "#define LESS_TWO less_two_{}\n#define SCALE_TWO scale_two_{}\n#define SCALE_LANES {}\n",
      cuda_memory_type(dtype), tiles.rows, tiles.weights, tiles.weights / 8, tiles.parts, columns,
      (columns * tiles.rows + sharers - 1) / sharers, tiles.weights + kPadding, tiles.depth,
      rounds_ahead(tiles, staged, weights), weights.bytes ? 1 : 0, cuda_memory_type(dtype), tiles.warps,
      slot_elements(tiles), staged ? 1 : 0, weights.bits(), weights.packed ? weights.packed->group : 0,
      weights.packed && weights.packed->zeros >= 0 ? 1 : 0, weights.packed ? weights.packed->format : "",
      cuda_memory_type(dtype), cuda_memory_type(dtype), cuda_memory_type(dtype), scale_lanes(weights));
}

int small_m_resident(const SmallMTiles& tiles, const SmallMWeights& weights) {
  if (tiles.warps > 0) return 1;
  return weights.packed && tiles.rows == 8 ? kPackedResident : kSmallMResident;
}

std::string small_m_function(const SmallMTiles& tiles, const SmallMWeights& weights) {
  const std::string_view type = weights.packed ? "unsigned char" : weights.bytes ? "signed char" : "Half";
  return fmt::format("typedef unsigned short Half;\ntypedef {} Weight;\n{}{}{}{}{}", type,
                     device::kSmallMGemmInstructions, weights.bytes ? device::kSmallMGemmWidenBytes : "",
                     weights.packed ? device::kSmallMGemmPairs : "",
                     weights.packed ? device::kSmallMGemmWidenCodes : "",
                     tiles.warps > 0 ? device::kSmallMGemmChain : device::kSmallMGemmFunction);
}

int64_t small_m_bytes(const SmallMTiles& tiles, bool staged, const SmallMWeights& weights) {
  const bool chains = tiles.warps > 0;
  const int64_t ring = chains ? chain_ring_bytes(tiles, staged)
                              : tiles.depth * (tiles.weights / 8) * kSmallMThreads * piece_bytes(weights);
  return ring +
         (chains ? tiles.warps : kWarps) * tiles.rows * (tiles.weights + kPadding) * int64_t{sizeof(float)};
}

int64_t staged_pitch(int64_t k) { return (k + kLongSlot - 1) / kLongSlot * kLongSlot + kStagedPadding; }

}  // namespace smelt
