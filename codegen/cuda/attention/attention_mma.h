// Flash attention on the tensor cores of sm_80 and later: mma.sync, ldmatrix and cp.async.
//
// A block keeps a tile of rows in shared memory and walks along tiles of columns, of which body_tile leaves
// out those that nothing sees. Rows are queries and columns keys, but for the gradients of keys and values,
// where it is the other way round. Scores and weights stay in registers, where the result of one product is
// laid out as the first operand of the next. Heavy tiles of masks like the causal one come first. All sums
// have a fixed order; no kernel has a workspace.
//
// All integers are long longs; strides are in elements, for one step along batch, position and head.
//
//   forward           (q, k, v, T* o, float* lse, SIZES, strides of q, k, v, o, float scale BODY)
//   key_gradients     (INPUTS, T* dk, T* dv, column gradients, SIZES, strides of q, k, v, d_o, dk, dv,
//                      float scale BODY)
//   query_gradients   (INPUTS, T* dq, row gradients, SIZES, strides of q, k, v, d_o, dq, float scale BODY)
//   element_gradient  (INPUTS, float* gradient, SIZES, strides of q, k, v, d_o, float scale BODY)
//
// INPUTS are q, k, v, d_o, const float* lse, const float* delta, the last two [batch, heads, queries]; BODY
// is BODY_PARAMETERS (attention_hooks.h). SIZES are batch, heads, group, queries, keys: query heads share a
// head of keys and values by `group`. Of the gradients of what the body reads each is a float*, compact. The
// bases and strides of q, k, v, d_o, o, dq, dk and dv are multiples of `vector` elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/attention/attention_hooks.h"
#include "runtime/dim.h"
#include "runtime/dtype.h"

namespace smelt {

enum class AttentionPart : uint8_t { forward, key_gradients, query_gradients, element_gradient };

/// A warp has 16 * row_tiles rows; of a tile's columns it takes `chunk` at a time.
struct MmaTiles {
  int warps = 4, row_tiles = 2, columns = 64, chunk = 32;
  int blocks = 2;  // of a multiprocessor, at least
  int parts = 1;   // of the columns of dK and dV, each a block's
  int rows() const { return warps * row_tiles * 16; }
};

struct MmaAttention {
  AttentionPart part = AttentionPart::forward;
  DType dtype = DType::bf16;
  int64_t head_size = 64;
  int vector = 8;  // elements of an access: 1, 2, 4 or 8; divides the head size
  MmaTiles tiles = {};
  AttentionHooks hooks = {};
  // Of element_gradient: which of them, and whether each batch and each head has its own.
  int element = 0;
  bool keeps_batch = true, keeps_head = true;
};

/// Tiles for a device of that compute capability, the fastest ones first; bodies differ in the registers that
/// they need, so take the first whose code has no stack (is_lean in runtime/cuda/nvrtc.h). `rows` is the most
/// queries that there can be, or keys for key_gradients: larger tiles are left out.
std::vector<MmaTiles> mma_tiles(const MmaAttention& attention, int compute_capability, int64_t rows);

/// The source of a kernel with that name.
std::string attention_mma_text(const MmaAttention& attention, const std::string& name);

/// The dynamic shared memory of a block, in bytes.
int64_t attention_mma_shared_bytes(const MmaAttention& attention);

struct AttentionSizes {
  Dim batch, heads, shared_heads, queries, keys;  // shared_heads: of keys and values
};
/// Blocks of the grid, which has one dimension.
Dim attention_mma_blocks(const MmaAttention& attention, const AttentionSizes& sizes);

}  // namespace smelt
