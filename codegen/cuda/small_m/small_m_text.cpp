#include "codegen/cuda/small_m/small_m_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"

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
int rounds_ahead(const SmallMTiles& tiles, bool staged, bool bytes) {
  if (staged) return 2;
  return (tiles.rows == 8 ? 6 : 4) / (bytes ? 2 : 1);
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

}  // namespace

std::string small_m_macros(DType dtype, const SmallMTiles& tiles, bool staged, bool bytes) {
  const int64_t columns = tiles.weights / tiles.parts,
                sharers = tiles.warps > 0 ? kLanes : kSmallMThreads;  // of the elements of a tile
  return fmt::format(
      "#define SM static __device__ __forceinline__\n#define MMA_TYPE \"{}\"\n#define ROWS {}\n"
      "#define WEIGHTS {}\n#define PIECES {}\n#define PARTS {}\n#define COLUMNS {}\n#define ITEMS {}\n"
      "#define PITCH {}\n#define DEPTH {}\n#define AHEAD {}\n#define BYTES {}\n#define WIDEN_BYTES "
      "widen_{}\n#define WARPS {}\n#define SLOT {}\n#define STAGED {}\n",
      cuda_memory_type(dtype), tiles.rows, tiles.weights, tiles.weights / 8, tiles.parts, columns,
      (columns * tiles.rows + sharers - 1) / sharers, tiles.weights + kPadding, tiles.depth,
      rounds_ahead(tiles, staged, bytes), bytes ? 1 : 0, cuda_memory_type(dtype), tiles.warps,
      slot_elements(tiles), staged ? 1 : 0);
}

int small_m_resident(const SmallMTiles& tiles) { return tiles.warps > 0 ? 1 : kSmallMResident; }

std::string small_m_function(const SmallMTiles& tiles) {
  return fmt::format(
      "typedef unsigned short Half;\n#if BYTES\ntypedef signed char Weight;\n#else\ntypedef Half "
      "Weight;\n#endif\n{}"
      "#if BYTES\n{}#endif\n{}",
      device::kSmallMGemmInstructions, device::kSmallMGemmWidenBytes,
      tiles.warps > 0 ? device::kSmallMGemmChain : device::kSmallMGemmFunction);
}

int64_t small_m_bytes(const SmallMTiles& tiles, bool staged) {
  const bool chains = tiles.warps > 0;
  const int64_t ring = chains ? chain_ring_bytes(tiles, staged)
                              : tiles.depth * (tiles.weights / 8) * kSmallMThreads * kPieceBytes;
  return ring +
         (chains ? tiles.warps : kWarps) * tiles.rows * (tiles.weights + kPadding) * int64_t{sizeof(float)};
}

int64_t staged_pitch(int64_t k) { return (k + kLongSlot - 1) / kLongSlot * kLongSlot + kStagedPadding; }

}  // namespace smelt
