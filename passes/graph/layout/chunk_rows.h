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
// passes/graph/layout/row_region.h defines that part of a graph. Nodes of the backward phase join the kernels
// of the forward phase, because each chunk's gradient directly follows its loss. Of R rows, each chunk has R
// / n, rounded down to a multiple of 16 for the alignment of the next chunk, and the last one has the
// remainder: if R is small, the other chunks are empty.
//
// Runs after rewrite_reductions, because gradients then need no other sums over the columns than the loss
// does, and before rematerialize, because that would move nodes that sum over rows after all chunks. Ensures:
// values differ only by the order of sums over rows; a sum over rows is stored, in its type, after every
// chunk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

/// Sizes of chunks. With 8,192 rows the matmuls of a vocabulary still fill a GPU, and sums over rows are
/// rarely read and written. A large vocabulary fills it with fewer rows, down to 4,096, and its chunk
/// determines the peak of memory. Below 512 MiB there is little to gain, and the peak of a training step
/// tends to be elsewhere.
struct ChunkRowsOptions {
  int64_t rows = 8192;        // per chunk, at the symbols' bounds; 0: no chunks
  int64_t least_rows = 4096;  // per chunk, if its result would have more than most_mib with more rows
  int64_t most_mib = 1024;
  int64_t least_mib = 512;  // the pass skips results smaller than this for all rows, as `storage`
  DType storage = DType::f32;
  std::vector<std::string>* log = nullptr;  // receives a sentence per matmul that was split
};
template <typename Field>
void visit_options(Field& field, ChunkRowsOptions& o) {
  field("rows", RangedOption{o.rows}), field("least_rows", RangedOption{o.least_rows});
  field("most_mib", RangedOption{o.most_mib}), field("least_mib", RangedOption{o.least_mib});
  field("storage", o.storage);
}
bool chunk_rows(Graph& graph, const ChunkRowsOptions& options = {});

}  // namespace smelt
