// What stands around the instructions of a kernel that is a part of attention: matrices, sizes and tiles. The
// instructions are the body (ir/attention_body.h) for one score; a template (codegen/cuda/attention/) is the
// rest.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/plan/attention_spec.h"

namespace smelt {

/// How a GPU takes it. A warp has 16 * row_tiles rows; of a tile's columns it takes `chunk` at a time.
struct AttentionTiles {
  int warps = 4, row_tiles = 2, columns = 64, chunk = 32;
  int blocks = 2;  // of a multiprocessor, at least
  int parts = 1;   // of the columns of dK and dV, each a block's
  int rows() const { return warps * row_tiles * 16; }
  bool operator==(const AttentionTiles&) const = default;
};

/// Of a template for sm_90a: work of a block at a time, its ring, and its warpgroups beside the copying one.
struct WgmmaTiles {
  int queries = 128, keys = 128, stages = 2, consumers = 2;
  int query_stages = 1;     // of the forward kernel: the next item's queries come early
  bool takes_turns = true;  // its consumers: one multiplies while another takes exponentials
  /// Of the kernel of dK and dV: products of dO and V are under way while weights are made, in registers of
  /// their own.
  bool early_products = true;
  bool operator==(const WgmmaTiles&) const = default;
};

/// Of the template for few queries (codegen/cuda/attention/few_queries.h): a block's rows, which are queries
/// times heads of a group; keys that a lane loads at a time; parts of a row's keys, at most, which begin at
/// multiples of a unit of keys; the blocks of a cluster, which take a part each; and, where blocks that are
/// no cluster do, how many lists of such blocks there are at the bounds.
struct FewTiles {
  int rows = 8, loads = 4, unit = 64, parts = 1, cluster = 1, tickets = 0;
  int blocks_of_rows() const { return tickets > 0 ? parts : cluster; }
  int blocks = 2;  // of a multiprocessor, at least
  bool operator==(const FewTiles&) const = default;
};
constexpr int kFewWarps = 4;  // of a block

/// They say which template a kernel is.
using TemplateTiles = std::variant<AttentionTiles, WgmmaTiles, BlockTiles, FewTiles>;

struct AttentionKernel : AttentionSpec {
  static constexpr int kAnyRows = 1 << 20;
  /// The kernel's axes that b, h, t and s are.
  std::vector<int64_t> axes;
  /// Instructions that the body returns: the modified score, then perhaps a factor of the weight; of a
  /// gradient the weight, the score's gradient, and those of what it reads: sums over keys, over queries,
  /// then by element.
  std::vector<int> returned;
  int element = 0;  // of element_gradient: which of them
  /// Whether a template for sm_90a may take it. Its gradients share parameters: f32 sums of dq, which the
  /// first makes and the second rounds, and counters, i32, zero before the first.
  bool has_wgmma = false;
  /// Of a tile of the templates for every architecture; none has 0 rows.
  int least_rows = 0, most_rows = kAnyRows;
  int query_sums = -1, counters = -1;
  /// Where keys and values are not in order: the parameter i32[batch, keys] that says in which of the rows of
  /// their table each is, and its strides. Their batch stride is 0 then, and places are rows.
  int places = -1;
  Dim places_batch_stride, places_stride, table_rows;
  /// On a CPU the returned values are not the template's, but stored in tiles: the last parameters, which no
  /// step gives. Only the modified score is returned.
  int tile_params = 0;
  /// Of a CPU's lanes; of few queries what blocks leave for one another.
  int workspace = -1;

  // Chosen by `schedule`, but for those of few queries, which memory depends on.
  TemplateTiles tiles = {};
  std::vector<TemplateTiles> lighter = {};  // tiles that need fewer registers, in order of preference
  int multiprocessors = 0;
  int most_blocks = 0;       // of a grid whose blocks take items until none is left; 0: any
  int vector = 1;            // elements of an access to a matrix
  int64_t shared_bytes = 0;  // of a block

  /// Of the forward kernel: y's rest is stored, too.
  bool has_rest() const { return part == AttentionPart::forward && matrices.size() > 4; }
  const BlockTiles* blocked() const { return std::get_if<BlockTiles>(&tiles); }
  const WgmmaTiles* wgmma() const { return std::get_if<WgmmaTiles>(&tiles); }
  const FewTiles* few() const { return std::get_if<FewTiles>(&tiles); }
  /// Of the grid, or items of work for one that has at most `most_blocks`.
  Dim blocks() const;
  bool operator==(const AttentionKernel&) const = default;
};

}  // namespace smelt
