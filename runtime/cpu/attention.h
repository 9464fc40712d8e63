// Attention on a CPU, computed by blocks of queries and keys, so that only one block of scores per thread is
// in memory. A CBLAS computes the matrix products. The kernel's compiled code computes the score_mod, the
// function that a graph gives for each score, over a block (BlockedAttention in
// runtime/plan/attention_spec.h). A lane is a thread with its own memory, which computes one work item after
// another. Results do not depend on the assignment of items to lanes, so they are the same for every number
// of threads.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// A kernel's compiled functions. `run` is the kernel's code. `sees` is null unless the kernel computes a
/// part of attention (AttentionPart). It writes 0 to KernelArgs::sees, which the caller has set to 1, if the
/// mask excludes all scores of a block.
struct KernelFunctions {
  KernelFunction run = nullptr, sees = nullptr;
};

/// A part of attention (AttentionPart) with its sizes evaluated for one set of symbol values. Strides are in
/// elements.
struct PreparedAttention {
  struct Matrix {
    int param = -1;  // number of the kernel's parameter
    DType dtype = DType::f32;
    int64_t batch = 0, place = 0, head = 0;  // strides of batch, position (query or key) and head
  };
  /// The evaluated LaneLayout (runtime/plan/attention_spec.h): offsets of the arrays in a lane's memory, and
  /// the size of this memory, `elements`. All are in f32 elements.
  struct Lane {
    int64_t tiles = 0, rows = 0, queries = 0, keys = 0, values = 0, others = 0;
    int64_t first_sums = 0, second_sums = 0, query_sums = 0, elements = 0;
  };

  PreparedAttention() = default;
  PreparedAttention(const KernelCode& kernel, const SymbolValues& values);

  /// Computes all work items with a team of OpenMP threads. `arguments` holds the addresses of the kernel's
  /// parameters. `args` holds the other arguments, except the range of columns (keys), which is set for each
  /// block.
  void run(const KernelFunctions& functions, const std::vector<void*>& arguments,
           const KernelArgs& args) const;

  const BlockedAttention* attention = nullptr;
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, items = 0;  // items: work items
  std::vector<Matrix> matrices, scales;                                           // as in AttentionSpec
  std::array<float, 256> numbers_of_codes = {};  // if there are scales: the number of each code of keys
  /// Strides of the parameter BlockedAttention::places, which has the row numbers of keys in a table.
  int64_t places_batch = 0, places_stride = 0;
  Lane lane;

  const AttentionSpec& spec() const { return attention->spec; }
  /// Returns the head size.
  int64_t width() const { return attention->spec.width; }
  /// Returns the number of query heads per key head.
  int64_t group() const { return heads / key_heads; }
  /// Returns the number of blocks of queries per head.
  int64_t query_blocks() const { return (queries + attention->tiles.queries - 1) / attention->tiles.queries; }
};

}  // namespace smelt
