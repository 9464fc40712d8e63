// What stands around the instructions of a kernel that is a part of attention: matrices, sizes and tiles. The
// instructions are the body (ir/attention_body.h) for one score; a template (codegen/cuda/attention/) is the
// rest.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/dim.h"

namespace smelt {

/// y and lse; dk and dv; dq; the sums of a gradient that is one number a query and key.
enum class AttentionPart : uint8_t { forward, key_gradients, query_gradients, element_gradient };

/// How a GPU takes it. A warp has 16 * row_tiles rows; of a tile's columns it takes `chunk` at a time.
struct AttentionTiles {
  int warps = 4, row_tiles = 2, columns = 64, chunk = 32;
  int blocks = 2;  // of a multiprocessor, at least
  int parts = 1;   // of the columns of dK and dV, each a block's
  int rows() const { return warps * row_tiles * 16; }
  bool operator==(const AttentionTiles&) const = default;
};

struct AttentionKernel {
  /// A parameter that holds heads, [batch, places, heads, width]; neighbours along the width lie together.
  struct Matrix {
    int param = -1;
    bool of_keys = false;  // places are keys and heads those of the keys
    Dim batch_stride, place_stride, head_stride;
    bool operator==(const Matrix&) const = default;
  };

  AttentionPart part = AttentionPart::forward;
  double scale = 1;
  int64_t width = 0;
  Dim batch, heads, key_heads, queries, keys;
  std::vector<Matrix> matrices;  // q, k, v, then y; or dy, dk, dv; or dy, dq; or dy
  std::vector<int64_t> rows;  // parameters f32[batch, heads, queries], compact: lse, written; or lse, delta
  /// Of gradients of what the body reads, in the order of `returned`: f32, compact.
  std::vector<int64_t> sums;
  bool keeps_batch = true, keeps_heads = true;  // of element_gradient: each has its own sum
  /// The kernel's axes that b, h, t and s are.
  std::vector<int64_t> axes;
  /// Instructions that the body returns: the modified score, then perhaps a factor of the weight; of a
  /// gradient the weight, the score's gradient, and those of what it reads: sums over keys, over queries,
  /// then by element.
  std::vector<int> returned;
  int row_gradients = 0, column_gradients = 0, element_gradients = 0;
  int element = 0;  // of element_gradient: which of them

  // Chosen by `schedule`.
  AttentionTiles tiles = {};
  std::vector<AttentionTiles> lighter = {};  // tiles that need fewer registers, in order of preference
  int vector = 1;                            // elements of an access to a matrix
  int64_t shared_bytes = 0;                  // of a block

  Dim blocks() const;
  bool operator==(const AttentionKernel&) const = default;
};

}  // namespace smelt
