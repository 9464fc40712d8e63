// Flash attention on the tensor cores of sm_80 and later: mma.sync, ldmatrix and cp.async.
//
// A thread block keeps a tile of rows in shared memory and loops over tiles of columns. It skips the tiles
// that the mask excludes. Rows are queries and columns are keys; in the kernel for the gradients of keys and
// values, rows are keys and columns are queries. Scores and weights stay in registers. With a causal mask,
// the tiles with the most work start first. All sums have a fixed order; no kernel has a workspace.
//
// The source text that this header's functions make ends with the function `attention`. The kernel that calls
// it must have kThreads threads per block, a constant that the source text defines. T is the element type, a
// 16-bit integer with the bits of a bf16 or f16. All integer arguments are long longs. `strides of q, k, ...`
// stands for three arguments per matrix: its strides along batch, position and head, in elements. INPUTS,
// SIZES, SCALE and the kinds of gradients are explained below the signatures.
//
//   forward           attention(q, k, v, T* o, T* rest, float* lse, SIZES,
//                               strides of q, k, v, o, rest, const int* places, strides of places, SCALE)
//   key_gradients     attention(INPUTS, T* dk, T* dv, column gradients, SIZES,
//                               strides of q, k, v, d_o, dk, dv, SCALE)
//   query_gradients   attention(INPUTS, T* dq, row gradients, SIZES, strides of q, k, v, d_o, dq, SCALE)
//   element_gradient  attention(INPUTS, float* gradient, SIZES, strides of q, k, v, d_o, SCALE)
//
// The argument `rest` is the address of the rounding residual of o; it is not used if `has_rest` is false. If
// `has_places`, keys and values are rows of tables, such as a paged KV cache. places[b,s] is then the row of
// key s and value s of batch b, and the strides of k and v along positions are those from row to row. INPUTS
// are q, k, v, d_o (the gradient of o), const float* lse (log-sum-exp of the scores), and const float* delta
// (the sum of d_o * o over the elements of a head). lse and delta are [batch, heads, queries]. SIZES are
// batch, heads, group, queries, keys: `group` query heads share a head of keys and values. SCALE is float
// scale, const BodyArguments&; the latter holds the arguments of the score_mod. "row gradients", "column
// gradients" and `gradient` are gradients of values that the score_mod reads, such as biases
// (attention_hooks.h): one float* to a compact array per gradient. The bases and strides of q, k, v, d_o, o,
// dq, dk and dv are multiples of `vector` elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel/attention_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Everything that determines the text of one kernel.
struct MmaAttention {
  AttentionPart part = AttentionPart::forward;
  DType dtype = DType::bf16;
  int64_t head_size = 64;
  int vector = 8;  // elements per access: 1, 2, 4 or 8; divides the head size
  AttentionTiles tiles = {};
  AttentionHooks hooks = {};
  bool has_rest = false;    // the forward kernel also stores the rounding residual of o
  bool has_places = false;  // the forward kernel reads keys and values from tables
  // For element_gradient: the index of the gradient among the element gradients of the score_mod, and whether
  // it has separate values per batch row and per head. If not, the kernel sums it over batch rows or heads.
  int element = 0;
  bool keeps_batch = true, keeps_head = true;
  int part_keys = 0;  // AttentionKernel::part_keys
  /// For a forward kernel: the types of keys and values that are codes, and of their scales; nothing: keys
  /// and values are of `dtype`.
  struct Codes {
    DType type, scales;
  };
  std::optional<Codes> codes = {};
};

/// Returns tiles for a device of this compute capability, the fastest first. The caller uses the first tiles
/// whose code spills no registers (is_lean in runtime/cuda/nvrtc.h). `rows` is the largest number of queries,
/// or of keys for key_gradients. Tiles with more rows than `rows` are left out, unless they have at most 64
/// rows. part_keys: AttentionKernel::part_keys.
std::vector<AttentionTiles> mma_tiles(AttentionPart part, int64_t head_size, int compute_capability,
                                      int64_t rows, int part_keys = 0);

/// A range of tile sizes: all tiles with `least` to `most` rows. A variant of a kernel has one such range.
/// The tiles of the range are tried in the order of mma_tiles, and the first whose code spills no registers
/// are used.
struct AttentionTileRows {
  int least = 0, most = 0;
  bool operator==(const AttentionTileRows&) const = default;
};
/// Divides the tiles of mma_tiles into ranges, and returns these in the order of their first tiles. Each
/// range becomes a variant, because the sizes at launch determine which range is the fastest.
std::vector<AttentionTileRows> mma_tile_rows(AttentionPart part, int64_t head_size, int compute_capability,
                                             int64_t rows, int part_keys = 0);

/// Returns the first part of the source, which all kernels have: the body, the constants, and the functions
/// of tiles and of their elements.
std::string mma_functions_text(const MmaAttention& attention);
/// Returns the source up to and including the function `attention`.
std::string attention_mma_text(const MmaAttention& attention);

/// Returns the dynamic shared memory of a block, in bytes.
int64_t attention_mma_shared_bytes(AttentionPart part, int64_t head_size, const AttentionTiles& tiles,
                                   int part_keys = 0);

/// Returns the most dynamic shared memory that a block can have, in bytes.
int64_t most_shared_bytes(int compute_capability);

}  // namespace smelt
