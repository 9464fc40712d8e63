// Part of the Kernel IR for kernels that compute attention, or one of its gradients (AttentionPart in
// runtime/plan/attention_spec.h): the matrices, sizes and tiles. The kernel's instructions compute the body
// (score_mod, ir/graph/attention_body.h) for one score. The rest of the kernel is a template, which applies
// the body to all scores: the hand-written code in codegen/cuda/attention/, or the loop over blocks of scores
// on a CPU. dQ, dK, dV and dO are the gradients of the queries, keys, values and the result.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/plan/attention_spec.h"

namespace smelt {

/// Tiles of the GPU template "mma", for all architectures. A thread block has `warps` warps of 16 * row_tiles
/// rows each. Rows are queries and columns are keys; for dK and dV, rows are keys and columns are queries. A
/// tile has `columns` columns, of which a warp processes `chunk` at a time.
struct AttentionTiles {
  int warps = 4, row_tiles = 2, columns = 64, chunk = 32;
  int blocks = 2;  // least number of blocks per multiprocessor, which limits the registers
  int parts = 1;   // parts of the head dim of dK and dV, each computed by a separate block
  int rows() const { return warps * row_tiles * 16; }
  bool operator==(const AttentionTiles&) const = default;
};

/// Tiles of the GPU template "wgmma", for sm_90a: `queries` and `keys` that a block processes at a time, the
/// number of `stages` of its ring buffer in shared memory, and the number of warpgroups that compute
/// (`consumers`). One more warpgroup copies matrices into the ring buffer.
struct WgmmaTiles {
  int queries = 128, keys = 128, stages = 2, consumers = 2;
  int query_stages = 1;     // forward kernel; 2: the next work item's queries are loaded early
  bool takes_turns = true;  // forward kernel: one consumer multiplies while another computes exponentials
  /// Kernel of dK and dV: products of dO and V are computed concurrently with the weights, in separate
  /// registers.
  bool early_products = true;
  bool operator==(const WgmmaTiles&) const = default;
};

/// Tiles of the GPU template "few", for decode attention (codegen/cuda/attention/decode_attention.h). The
/// keys of a block's rows are divided into parts.
///   rows     rows of a block: queries times query heads per key head
///   loads    keys that a lane loads at a time
///   unit     number of keys: each part begins at a multiple of it
///   parts    largest number of parts
///   cluster  blocks of a cluster, each of which computes one part; 1: no cluster
///   tickets  number of counters in global memory. Blocks that have the same rows, and compute one part each
///            without being a cluster, share one counter. 0: there are no such blocks
struct FewTiles {
  int rows = 8, loads = 4, unit = 64, parts = 1, cluster = 1, tickets = 0;
  /// Returns the number of blocks that share the same rows.
  int blocks_of_rows() const { return tickets > 0 ? parts : cluster; }
  int blocks = 2;  // least number of blocks per multiprocessor, which limits the registers
  /// Products are computed by tensor cores, in tiles of 16 keys; `loads` is then the number of tiles that a
  /// warp loads at a time. False: by multiply-adds.
  bool tensor_cores = false;
  // With AttentionKernel::part_keys, tiles are those of codegen/cuda/attention/decode_parts.h.
  bool operator==(const FewTiles&) const = default;
};
constexpr int kFewWarps = 4;    // warps per block of the template "few"
constexpr int kPartKeys = 128;  // AttentionKernel::part_keys, if keys are in parts

/// Tiles of a kernel. Their type determines the template. BlockTiles (attention_spec.h) are for CPUs.
using TemplateTiles = std::variant<AttentionTiles, WgmmaTiles, BlockTiles, FewTiles>;

/// An attention kernel: what it computes (AttentionSpec), its parameters and its tiles. The int members
/// `query_sums`, `counters`, `places` and `workspace` are indices into Kernel::params; -1: the kernel has no
/// such parameter.
struct AttentionKernel : AttentionSpec {
  static constexpr int kAnyRows = 1 << 20;  // most_rows without a limit
  /// Indices into Kernel::axes of the axes for batch, head, query and key, in this order.
  std::vector<int64_t> axes;
  /// Numbers of the instructions whose values the body returns. In the forward kernel: the modified score and
  /// optionally a factor of the weight. In a gradient: the weight, the score's gradient, and the gradients of
  /// the values that the body reads, in the order of AttentionSpec::sums.
  std::vector<int> returned;
  int element = 0;  // for AttentionPart::element_gradient: index among AttentionSpec::element_gradients
  /// Whether the template "wgmma" may compute the kernel.
  bool has_wgmma = false;
  /// Range of AttentionTiles::rows(), the rows per thread block, from which the tiles of the template "mma"
  /// are chosen.
  int least_rows = 0, most_rows = kAnyRows;
  /// Parameters that the two gradient kernels of "wgmma" share: f32 sums of dQ, which the first kernel
  /// computes and the second rounds, and i32 counters, which must be zero before the first.
  int query_sums = -1, counters = -1;
  /// Only if keys and values are rows of a table. `places`: the parameter i32[batch, keys] that has the row
  /// number of each key. The next members are the strides of this parameter, in elements, and the number of
  /// rows of the table. The batch stride of the key and value matrices is then 0, and their positions are the
  /// rows of the table.
  int places = -1;
  Dim places_batch_stride, places_stride, table_rows;
  /// Only for CPUs: how many of the last parameters of the kernel are tiles (arrays over a block of scores).
  /// The template provides them, so steps have no arguments for them. The body stores its results in the
  /// tiles, and `returned` has only the modified score.
  int tile_params = 0;
  /// Parameter: on a CPU, the workspace of all lanes (threads, BlockTiles::lanes); in decode attention, the
  /// partial results that thread blocks exchange.
  int workspace = -1;

  /// Only for a forward kernel of 16-bit elements on a GPU. Positive: a row's keys are divided into parts of
  /// this many keys, which are added one after the other (codegen/cuda/device/attention/mma/parts.cuh), so
  /// that all kernels give a row the same bits. 0: each template has an order of its own.
  int part_keys = 0;

  // Chosen by `schedule`, except FewTiles, which are chosen earlier.
  TemplateTiles tiles = {};
  std::vector<TemplateTiles> lighter = {};  // other tiles with fewer registers, in order of preference
  int multiprocessors = 0;                  // of the GPU
  /// Largest number of thread blocks of a persistent grid, whose blocks process work items until none is
  /// left; 0: the grid has one block per item.
  int most_blocks = 0;
  int vector = 1;            // elements per access to a matrix
  int64_t shared_bytes = 0;  // dynamic shared memory per block

  /// Returns whether this is a forward kernel that also stores the rounding residual of its output.
  bool has_rest() const { return part == AttentionPart::forward && matrices.size() > 4; }
  /// Return the tiles if they are of this type; else null.
  const BlockTiles* blocked() const { return std::get_if<BlockTiles>(&tiles); }
  const WgmmaTiles* wgmma() const { return std::get_if<WgmmaTiles>(&tiles); }
  const FewTiles* few() const { return std::get_if<FewTiles>(&tiles); }
  /// Returns the number of work items. On a CPU, lanes process them (item_count). On a GPU, it is the number
  /// of thread blocks of the grid, unless `most_blocks` limits that.
  Dim blocks() const;
  bool operator==(const AttentionKernel&) const = default;
};

}  // namespace smelt
