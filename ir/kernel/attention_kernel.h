// Frame of a kernel that is a part of attention: matrices, sizes and tiles. The instructions are the body
// (ir/graph/attention_body.h) for one score; a template (codegen/cuda/attention/) is the rest.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/plan/attention_spec.h"

namespace smelt {

/// Tiles of the GPU template for every architecture. A warp has 16 * row_tiles rows; it processes `chunk`
/// columns of a tile at a time.
struct AttentionTiles {
  int warps = 4, row_tiles = 2, columns = 64, chunk = 32;
  int blocks = 2;  // of a multiprocessor, at least
  int parts = 1;   // of the columns of dK and dV, each a block's
  int rows() const { return warps * row_tiles * 16; }
  bool operator==(const AttentionTiles&) const = default;
};

/// Tiles of the template for sm_90a: work of a block at a time, its ring of buffers, and its warpgroups in
/// addition to the copying one.
struct WgmmaTiles {
  int queries = 128, keys = 128, stages = 2, consumers = 2;
  int query_stages = 1;     // of the forward kernel: the next item's queries come early
  bool takes_turns = true;  // its consumers: one multiplies while another takes exponentials
  /// In the kernel of dK and dV: products of dO and V are computed concurrently with the weights, in separate
  /// registers.
  bool early_products = true;
  bool operator==(const WgmmaTiles&) const = default;
};

/// Tiles of the template for decode attention (codegen/cuda/attention/decode_attention.h): a block's rows,
/// which are queries times heads of a group; keys that a lane loads at a time; the largest number of parts of
/// a row's keys, which begin at multiples of a unit of keys; the blocks of a cluster, one part each; and, if
/// blocks outside a cluster compute the parts, the number of lists of such blocks at the bounds.
struct FewTiles {
  int rows = 8, loads = 4, unit = 64, parts = 1, cluster = 1, tickets = 0;
  int blocks_of_rows() const { return tickets > 0 ? parts : cluster; }
  int blocks = 2;  // of a multiprocessor, at least
  bool operator==(const FewTiles&) const = default;
};
constexpr int kFewWarps = 4;  // of a block

/// Tiles; their type is that of the kernel's template.
using TemplateTiles = std::variant<AttentionTiles, WgmmaTiles, BlockTiles, FewTiles>;

struct AttentionKernel : AttentionSpec {
  static constexpr int kAnyRows = 1 << 20;
  /// The kernel's axes for b, h, t and s.
  std::vector<int64_t> axes;
  /// Instructions that the body returns: the modified score, then optionally a factor of the weight. In a
  /// gradient: the weight, the score's gradient, and those of the values that the body reads: sums over keys,
  /// over queries, then by element.
  std::vector<int> returned;
  int element = 0;  // of element_gradient: which of them
  /// True: a template for sm_90a may compute it. Its gradients share parameters: f32 sums of dq, which the
  /// first kernel computes and the second rounds, and counters, i32, zero before the first.
  bool has_wgmma = false;
  /// Rows per tile of the templates for every architecture; none has 0 rows.
  int least_rows = 0, most_rows = kAnyRows;
  int query_sums = -1, counters = -1;
  /// If keys and values are not in order: the parameter i32[batch, keys] with the row of each key in their
  /// table, and its strides. Their batch stride is then 0, and positions are rows.
  int places = -1;
  Dim places_batch_stride, places_stride, table_rows;
  /// On a CPU the returned values are not passed to the template, but stored in tiles: the last parameters,
  /// which no step gives. Only the modified score is returned.
  int tile_params = 0;
  /// Parameter for the workspace of a CPU's lanes; in decode attention, for the results that blocks exchange.
  int workspace = -1;

  // Chosen by `schedule`, but for those of few queries, which memory depends on.
  TemplateTiles tiles = {};
  std::vector<TemplateTiles> lighter = {};  // tiles that need fewer registers, in order of preference
  int multiprocessors = 0;
  int most_blocks = 0;       // of a grid whose blocks take items until none is left; 0: any
  int vector = 1;            // elements of an access to a matrix
  int64_t shared_bytes = 0;  // of a block

  /// Returns whether the forward kernel also stores the rounding residual of y.
  bool has_rest() const { return part == AttentionPart::forward && matrices.size() > 4; }
  const BlockTiles* blocked() const { return std::get_if<BlockTiles>(&tiles); }
  const WgmmaTiles* wgmma() const { return std::get_if<WgmmaTiles>(&tiles); }
  const FewTiles* few() const { return std::get_if<FewTiles>(&tiles); }
  /// Returns the blocks of the grid, or the work items for a grid of at most `most_blocks`.
  Dim blocks() const;
  bool operator==(const AttentionKernel&) const = default;
};

}  // namespace smelt
