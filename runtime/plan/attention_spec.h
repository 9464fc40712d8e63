// What surrounds the body of a part of attention: matrices, sizes, and what a body gives beside scores.
// ir/attention_body.h says what is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/dim.h"

namespace smelt {

/// y, perhaps its rest, and lse; dk and dv; dq; the sums of a gradient that is one number a query and key;
/// dq, dk and dv.
enum class AttentionPart : uint8_t { forward, key_gradients, query_gradients, element_gradient, gradients };
std::string_view name(AttentionPart part);  // "forward", "key_gradients"
std::optional<AttentionPart> parse_attention_part(std::string_view text);

struct AttentionSpec {
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
  std::vector<Matrix>
      matrices;  // q, k, v, then y, perhaps its rest; or dy, then those of dq, dk and dv that the part writes
  std::vector<int64_t> rows;  // parameters f32[batch, heads, queries], compact: lse, written; or lse, delta
  /// Of gradients of what the body reads, in the order of rows, columns and elements: f32, compact.
  std::vector<int64_t> sums;
  bool keeps_batch = true, keeps_heads = true;  // of element_gradient: each has its own sum
  int row_gradients = 0, column_gradients = 0, element_gradients = 0;

  /// Heads of queries that share one of keys.
  Dim group() const { return heads.divide(key_heads).value_or(heads); }
  bool operator==(const AttentionSpec&) const = default;
};

/// Blocks of scores that a CPU has at hand, and lanes that work at the same time, each with memory of its
/// own.
struct BlockTiles {
  int queries = 128, keys = 256, lanes = 1;
  bool operator==(const BlockTiles&) const = default;
};

/// A part of attention on a CPU, by blocks. The kernel's code computes the body over a block, whose numbers
/// lie in tiles: pointers behind those of its parameters, in the order of `Tile`.
struct BlockedAttention {
  AttentionSpec spec;
  BlockTiles tiles;
  int workspace = -1;  // parameter, f32: of all lanes
  /// Where keys and values are rows of a table: the parameter, i32[batch, keys], that says which ones, and
  /// its strides. The batch stride of their matrices is 0 then, and places are the table's rows.
  int places = -1;
  Dim places_batch_stride = {}, places_stride = {};
};

/// Of a body over a block: scores [queries, keys], one a query, or one a score and gradient.
enum class ForwardTile : uint8_t { score, maximum, sum, weight, new_maximum, new_sum, factor, count };
enum class GradientTile : uint8_t { score, product, weight, score_gradient, of_arguments };

/// Sums of what the body reads that the part makes.
int gradients_of(const AttentionSpec& spec);
/// Pointers to tiles that the kernel's code takes.
int tile_count(const AttentionSpec& spec);
/// What is worked on by one lane after the other: blocks of queries; or a head of keys, its queries with it.
Dim item_count(const AttentionSpec& spec, const BlockTiles& tiles);

/// Where a lane's f32 numbers lie, counted from its own first.
struct LaneLayout {
  Dim tiles;                          // of scores, one behind the other
  Dim rows;                           // five lists of one number a query
  Dim queries, keys, values, others;  // read as f32: q, k, v and dy
  Dim first_sums, second_sums;        // y, or dk and dv
  Dim query_sums;                     // dq of all queries of a group
  Dim elements;                       // of the lane
};
LaneLayout lane_layout(const AttentionSpec& spec, const BlockTiles& tiles);

}  // namespace smelt
