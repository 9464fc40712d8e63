// chunk_rows: what is computed row by row from a large matmul, and summed or multiplied in the end, is
// computed for some rows at a time. The logits of a batch, and their gradients, are then never in memory
// together.
//
//   logits = x W          for each of n chunks of rows:     logits_i = x_i W
//   loss = f(logits)                                        loss_i = f(logits_i)
//   g = f'(logits)                                          g_i = f'(logits_i)
//   dx = g W                                                dx_i = g_i W
//   dW = x g                                                dW = dW + x_i g_i
//                         then loss = concat loss_i and dx = concat dx_i
//
// passes/memory/row_region.h says which part of a graph that is. Nodes of the backward phase that are moved
// to the forward one, where each chunk's gradient follows its loss, join its kernels. Of R rows, chunks have
// R / n, rounded down (to sixteens, for the alignment of what lies behind), and the last one has the rest:
// for few rows the others are empty.
//
// After rewrite_reductions, which makes gradients that need no other sums over the columns than the loss, and
// before rematerialize, which would move what sums over rows behind all chunks. Contract: values differ by
// the order of sums over rows; what is summed over rows is stored, in its type, after every chunk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// With 8,192 rows the matmuls of a vocabulary still fill a GPU, and what is summed over rows is seldom read
/// and written. A large vocabulary fills it with fewer, down to 4,096, and its chunk is what memory peaks
/// with. Below 512 MiB there is little to gain, and a training step's peak tends to be elsewhere.
struct ChunkRowsOptions {
  int64_t rows = 8192;        // of a chunk, at the symbols' bounds; 0: nothing changes
  int64_t least_rows = 4096;  // of a chunk whose part of the result would have more than most_mib otherwise
  int64_t most_mib = 1024;
  int64_t least_mib = 512;  // of the matmul's result for all rows, as `storage`, below which it is left alone
  DType storage = DType::f32;
  std::vector<std::string>* log = nullptr;  // a sentence for each matmul that was taken apart
};
bool chunk_rows(Graph& graph, const ChunkRowsOptions& options = {});
/// rows = "4096", least_mib = "0", storage = "bf16"
void set_option(ChunkRowsOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
