#include "codegen/cuda/small_m/small_m_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"

namespace smelt {
namespace {

constexpr int64_t kLanes = 32, kWarps = kSmallMThreads / kLanes, kPieceBytes = 16;
/// Bytes of a row of weights in a slot of the ring buffer of a warp, if sums are chains.
constexpr int64_t kRowBytes = 128;
/// Between columns of partial sums in shared memory, beyond the weights: the four lanes that hold
/// neighbouring columns then write to different banks.
constexpr int64_t kPadding = 4;
/// Elements between rows of A in shared memory beyond those that their length needs.
constexpr int64_t kStagedPadding = 32;
/// Returns the rounds whose pieces of A are in registers or in flight: a round takes less time than an access
/// of the L2, and more than one of shared memory.
int rounds_ahead(const SmallMTiles& tiles, bool staged, bool bytes) {
  if (tiles.warps > 0) return staged || tiles.rows > 8 || tiles.weights > 16 ? 4 : 8;  // as registers allow
  if (staged) return 2;
  return (tiles.rows == 8 ? 6 : 4) / (bytes ? 2 : 1);
}

}  // namespace

std::string small_m_macros(DType dtype, const SmallMTiles& tiles, bool staged, bool bytes) {
  const int64_t columns = tiles.weights / tiles.parts,
                sharers = tiles.warps > 0 ? kLanes : kSmallMThreads;  // of the elements of a tile
  return fmt::format(
      "#define SM static __device__ __forceinline__\n#define MMA_TYPE \"{}\"\n#define ROWS {}\n"
      "#define WEIGHTS {}\n#define PIECES {}\n#define PARTS {}\n#define COLUMNS {}\n#define ITEMS {}\n"
      "#define PITCH {}\n#define DEPTH {}\n#define AHEAD {}\n#define BYTES {}\n#define WIDEN_BYTES "
      "widen_{}\n#define WARPS {}\n",
      cuda_memory_type(dtype), tiles.rows, tiles.weights, tiles.weights / 8, tiles.parts, columns,
      (columns * tiles.rows + sharers - 1) / sharers, tiles.weights + kPadding, tiles.depth,
      rounds_ahead(tiles, staged, bytes), bytes ? 1 : 0, cuda_memory_type(dtype), tiles.warps);
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

int64_t small_m_bytes(const SmallMTiles& tiles) {
  const bool chains = tiles.warps > 0;
  const int64_t warps = chains ? tiles.warps : kWarps;
  const int64_t ring = chains ? warps * tiles.depth * tiles.weights * kRowBytes
                              : tiles.depth * (tiles.weights / 8) * kSmallMThreads * kPieceBytes;
  return ring + warps * tiles.rows * (tiles.weights + kPadding) * int64_t{sizeof(float)};
}

int64_t staged_pitch(int64_t k) { return k + kStagedPadding; }

}  // namespace smelt
