// Descriptions of the parts of attention that kernels compute: matrices, sizes, and the gradients of the
// tensors that the score_mod reads. The score_mod is the function that a graph gives for each score;
// ir/graph/attention_body.h defines the computation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/dim.h"

namespace smelt {

/// A part of attention. q, k and v are the queries, keys and values, y is the result of attention, and dq,
/// dk, dv and dy are the gradients of these. The results of a part are
///   forward           y, optionally the rounding residual of y, and lse (log-sum-exp of the scores)
///   key_gradients     dk and dv
///   query_gradients   dq
///   element_gradient  the gradient of a score_mod tensor that has one element per query and key
///   gradients         dq, dk and dv
enum class AttentionPart : uint8_t { forward, key_gradients, query_gradients, element_gradient, gradients };
std::string_view name(AttentionPart part);  // "forward", "key_gradients"
std::optional<AttentionPart> parse_attention_part(std::string_view text);

/// Operands and sizes of one part of attention.
struct AttentionSpec {
  /// A kernel parameter of shape [batch, positions, heads, width] with strides in elements. Elements along
  /// the width are contiguous.
  struct Matrix {
    int param = -1;        // index of the kernel parameter
    bool of_keys = false;  // positions are keys, and heads are key heads; else queries and query heads
    Dim batch_stride, place_stride, head_stride;
    bool operator==(const Matrix&) const = default;
  };

  AttentionPart part = AttentionPart::forward;
  double scale = 1;
  int64_t width = 0;  // elements per head
  Dim batch, heads, key_heads, queries, keys;
  /// q, k and v come first. For forward, y and optionally its rounding residual follow. For the other parts,
  /// dy follows, then those of dq, dk and dv that the part writes.
  std::vector<Matrix> matrices;
  /// Only for forward: if k and v are codes of 8 bits, i8 or f8e4m3, the scales of k and those of v. Each is
  /// a kernel parameter [batch, positions, heads] of floats; a key is its codes times its scale.
  std::vector<Matrix> scales;
  /// Indices of the kernel parameters f32[batch, heads, queries], dense. Forward has one, lse, which it
  /// writes. Parts that compute gradients read two: lse, and delta, which is the sum of dy * y over the
  /// width.
  std::vector<int64_t> rows;
  /// Indices of the f32 kernel parameters, dense, for the gradients of score_mod tensors that the part
  /// computes. Tensors with one element per query come first, then those with one element per key, then those
  /// with one element per query and key.
  std::vector<int64_t> sums;
  /// For element_gradient: whether the gradient has an axis of batch items, and an axis of heads. If not, it
  /// is summed over them.
  bool keeps_batch = true, keeps_heads = true;
  /// Counts of the score_mod tensors with a gradient: those that have one element per query, per key, and per
  /// query and key.
  int row_gradients = 0, column_gradients = 0, element_gradients = 0;

  /// Query heads per key head.
  Dim group() const { return heads.divide(key_heads).value_or(heads); }
  bool operator==(const AttentionSpec&) const = default;
};

/// Size of a block of scores on a CPU, and the number of lanes. Lanes work concurrently, and each has its own
/// part of the workspace (LaneLayout).
struct BlockTiles {
  int queries = 128, keys = 256, lanes = 1;
  bool operator==(const BlockTiles&) const = default;
};

/// A part of attention on a CPU, which is computed block by block. The runtime computes the matrix products
/// of a block. The kernel's code computes the rest, element by element: the score_mod, the softmax and their
/// gradients. The code gets pointers to the tiles of the block after the pointers of its parameters, in the
/// order of ForwardTile or GradientTile.
struct BlockedAttention {
  AttentionSpec spec;
  BlockTiles tiles;
  int workspace = -1;  // index of the f32 parameter with the memory of all lanes
  /// If keys and values are rows of a table: the index of the parameter i32[batch, keys] with their row
  /// numbers, and the strides of that parameter. The batch stride of their matrices is then 0, and positions
  /// are rows of the table. -1: keys and values are stored in order.
  int places = -1;
  Dim places_batch_stride = {}, places_stride = {};
};

/// Tiles of a block, which the kernel's code reads and writes. score, product, weight and score_gradient
/// have one element per score; maximum, sum, new_maximum, new_sum and factor have one element per query.
///   Forward: the code reads score = scale * q . k, and the maximum and the sum of the softmax over the
///   earlier blocks of keys. It writes the new maximum and sum, and weight = exp(score_mod(score) -
///   new_maximum). If the score_mod also returns a factor for each weight (such as that of dropout), the
///   weight is multiplied by it. The code also writes factor = exp(maximum - new_maximum), by which the y of
///   the earlier blocks is multiplied.
///   Gradients: the code reads score and product = dy . v. It writes weight, the result of the softmax, and
///   the gradient of the score.
/// `count` is the number of forward tiles. From `of_arguments` on there is one tile per gradient of a
/// score_mod tensor, with one element per score.
enum class ForwardTile : uint8_t { score, maximum, sum, weight, new_maximum, new_sum, factor, count };
enum class GradientTile : uint8_t { score, product, weight, score_gradient, of_arguments };

/// Returns the number of gradients of score_mod tensors that the part computes.
int gradients_of(const AttentionSpec& spec);
/// Returns the number of tile pointers that the kernel's code gets.
int tile_count(const AttentionSpec& spec);
/// Returns the number of work items, which are distributed over the lanes. An item is a block of queries of
/// one head. There are two exceptions. For `gradients`, an item is a key head with all of its queries. If
/// element_gradient sums over batch items or heads, an item is a block of queries of all batch items or
/// heads.
Dim item_count(const AttentionSpec& spec, const BlockTiles& tiles);

/// Offsets, in f32 elements, of the arrays of a lane from the lane's first element. 0 for arrays that the
/// part does not have.
struct LaneLayout {
  Dim tiles;                          // tiles with one element per score, contiguous
  Dim rows;                           // for forward: the five tiles with one element per query
  Dim queries, keys, values, others;  // q, k, v and dy of the block, converted to f32
  Dim first_sums, second_sums;        // y for forward; dk and dv for `gradients`
  Dim query_sums;                     // for `gradients`: dq of all query heads of the item's key head
  Dim elements;                       // size of the lane's memory
};
LaneLayout lane_layout(const AttentionSpec& spec, const BlockTiles& tiles);

}  // namespace smelt
