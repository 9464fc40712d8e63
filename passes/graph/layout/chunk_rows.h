// chunk_rows: computes a large matmul, and the row-wise computation around it, for one chunk of rows at a
// time. The logits of a batch, and their gradients, are then never in memory as a whole.
//
//   logits = x W^T        for each of n chunks of rows:     logits_i = x_i W^T
//   loss = f(logits)                                        loss_i = f(logits_i)
//   g = f'(logits)                                          g_i = f'(logits_i)
//   dx = g W                                                dx_i = g_i W
//   dW = g^T x                                              dW = dW + g_i^T x_i
//                         then loss = concat loss_i and dx = concat dx_i
//
// In this example, x and dx are [rows, in], W and dW are [vocabulary, in], logits and g are [rows,
// vocabulary], and f computes each row separately.
//
// row_region.h defines the part of a graph that is computed by chunks. Its nodes of the backward phase become
// nodes of the forward phase, because each chunk computes its gradient directly after its loss. If there are
// R rows, each of the n chunks has R / n rows, rounded down to a multiple of 16 (to an integer if the option
// `rows` is no multiple of 16). The last chunk also has the remaining rows. If R / n is rounded to 0, the
// last chunk has all rows.
//
// Runs after rewrite_reductions, so that f' reads the sums over columns that f has computed. Runs before
// rematerialize, so that rematerialize neither keeps logits for backward nor recomputes them. Ensures: values
// differ only by the order of sums over rows, and by the rounding of such a sum to its type after every
// chunk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

/// Sizes of chunks. With the default sizes, the matmuls of a chunk still fill a GPU.
struct ChunkRowsOptions {
  /// Most rows per chunk, at the symbols' upper bounds; 0: no chunks. There are at most 64 chunks, so chunks
  /// may become larger than this.
  int64_t rows = 8192;
  int64_t least_rows = 1536;   // a chunk may have this number of rows even if its result exceeds most_mib
  int64_t most_mib = 508;      // most MiB of the matmul's result per chunk: with values per row, 512
  int64_t least_mib = 512;     // a matmul is not split if its whole result has fewer MiB
  DType storage = DType::f32;  // element type for which MiB are counted
  std::vector<std::string>* log = nullptr;  // receives a sentence per matmul that was split; null: no log
};
template <typename Field>
void visit_options(Field& field, ChunkRowsOptions& o) {
  field("rows", RangedOption{o.rows}), field("least_rows", RangedOption{o.least_rows});
  field("most_mib", RangedOption{o.most_mib}), field("least_mib", RangedOption{o.least_mib});
  field("storage", o.storage);
}
bool chunk_rows(Graph& graph, const ChunkRowsOptions& options = {});

}  // namespace smelt
