// The parts of attention that kernels compute: their matrices, their sizes, and the results of the score_mod
// other than scores. ir/graph/attention_body.h defines the computation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/dim.h"

namespace smelt {

/// Results of the parts, in order: y, optionally its rounding residual, and lse; dk and dv; dq; the sums of a
/// gradient that has one number per query and key; dq, dk and dv.
enum class AttentionPart : uint8_t { forward, key_gradients, query_gradients, element_gradient, gradients };
std::string_view name(AttentionPart part);  // "forward", "key_gradients"
std::optional<AttentionPart> parse_attention_part(std::string_view text);

struct AttentionSpec {
  /// A parameter [batch, positions, heads, width]; elements along the width are contiguous.
  struct Matrix {
    int param = -1;
    bool of_keys = false;  // positions are keys, and heads are key heads
    Dim batch_stride, place_stride, head_stride;
    bool operator==(const Matrix&) const = default;
  };

  AttentionPart part = AttentionPart::forward;
  double scale = 1;
  int64_t width = 0;
  Dim batch, heads, key_heads, queries, keys;
  std::vector<Matrix> matrices;  // q, k, v, then y, optionally its residual; or dy, then those of dq, dk and
                                 // dv that the part writes
  std::vector<int64_t> rows;  // parameters f32[batch, heads, queries], compact: lse, written; or lse, delta
  /// Gradients of the tensors that the score_mod reads, in the order rows, columns, elements: f32, compact.
  std::vector<int64_t> sums;
  bool keeps_batch = true, keeps_heads = true;  // of element_gradient: each has its own sum
  int row_gradients = 0, column_gradients = 0, element_gradients = 0;

  /// Query heads per key head.
  Dim group() const { return heads.divide(key_heads).value_or(heads); }
  bool operator==(const AttentionSpec&) const = default;
};

/// Size of a block of scores on a CPU, and the number of lanes that work concurrently, each with its own
/// memory.
struct BlockTiles {
  int queries = 128, keys = 256, lanes = 1;
  bool operator==(const BlockTiles&) const = default;
};

/// A part of attention on a CPU, computed block by block. The kernel's code computes the score_mod over a
/// block. Its tiles follow the pointers of its parameters, in the order of ForwardTile or GradientTile.
struct BlockedAttention {
  AttentionSpec spec;
  BlockTiles tiles;
  int workspace = -1;  // parameter, f32: of all lanes
  /// If keys and values are rows of a table: the parameter i32[batch, keys] with their row numbers, and its
  /// strides. The batch stride of their matrices is then 0, and their positions are the table's rows.
  int places = -1;
  Dim places_batch_stride = {}, places_stride = {};
};

/// Tiles of a score_mod over a block: scores [queries, keys], one number per query, or one number per score
/// and gradient.
enum class ForwardTile : uint8_t { score, maximum, sum, weight, new_maximum, new_sum, factor, count };
enum class GradientTile : uint8_t { score, product, weight, score_gradient, of_arguments };

/// Gradients of the score_mod's tensors that the part computes.
int gradients_of(const AttentionSpec& spec);
/// Number of tile pointers that the kernel's code takes.
int tile_count(const AttentionSpec& spec);
/// Number of work items, which lanes take one after the other: blocks of queries, or key heads with all of
/// their queries.
Dim item_count(const AttentionSpec& spec, const BlockTiles& tiles);

/// Offsets of a lane's f32 arrays from the lane's first element.
struct LaneLayout {
  Dim tiles;                          // of scores, contiguous
  Dim rows;                           // five lists of one number per query
  Dim queries, keys, values, others;  // read as f32: q, k, v and dy
  Dim first_sums, second_sums;        // y, or dk and dv
  Dim query_sums;                     // dq of all queries of a group
  Dim elements;                       // of the lane
};
LaneLayout lane_layout(const AttentionSpec& spec, const BlockTiles& tiles);

}  // namespace smelt
