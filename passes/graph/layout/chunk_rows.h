// chunk_rows: computes a large matmul, and the row-wise computation around it, for one chunk of rows at a
// time. The logits of a batch, and their gradients, are then never in memory as a whole.
//
//   logits = x W          for each of n chunks of rows:     logits_i = x_i W
//   loss = f(logits)                                        loss_i = f(logits_i)
//   g = f'(logits)                                          g_i = f'(logits_i)
//   dx = g W                                                dx_i = g_i W
//   dW = x g                                                dW = dW + x_i g_i
//                         then loss = concat loss_i and dx = concat dx_i
//
// row_region.h defines the part of a graph that is computed by chunks. Its nodes of the backward phase become
// nodes of the forward phase, because each chunk's gradient directly follows its loss. Each of n chunks has R
// / n of the R rows, rounded down to a multiple of 16, so that the next chunk is aligned. The last chunk also
// has the remaining rows. If R is small, all other chunks are empty.
//
// Runs after rewrite_reductions, because gradients then need only those sums over columns that the loss
// needs. Runs before rematerialize, which would move nodes that sum over rows after all chunks. Ensures:
// values differ only by the order of sums over rows, and by the rounding of such a sum to its type after
// every chunk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

/// Sizes of chunks. The defaults have these reasons. With chunks of 8,192 rows, the matmuls of a vocabulary
/// still fill a GPU, and each sum over rows is read and written only a few times. With a large vocabulary,
/// 4,096 rows also fill a GPU, and the size of a chunk determines the peak of memory. If all logits have less
/// than 512 MiB, there is little to gain, because the peak of a training step tends to be elsewhere.
struct ChunkRowsOptions {
  int64_t rows = 8192;         // most rows per chunk, at the symbols' upper bounds; 0: no chunks
  int64_t least_rows = 4096;   // a chunk may have this number of rows although it exceeds most_mib
  int64_t most_mib = 1024;     // most MiB of the matmul's result per chunk
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
