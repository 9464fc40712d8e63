// Attention by blocks of queries and keys: each lane stores one block of scores only. Products are computed
// by a CBLAS, and the score_mod over a block by the kernel's code (BlockedAttention). A lane works on one
// item after the other. Results do not depend on the assignment of items to lanes, so they are the same for
// every number of threads.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// A kernel's functions: its code, and of a part of attention one that looks whether a block's mask lets a
/// query see a key.
struct KernelFunctions {
  KernelFunction run = nullptr, sees = nullptr;
};

/// A part of attention with its sizes evaluated.
struct PreparedAttention {
  struct Matrix {
    int param = -1;
    DType dtype = DType::f32;
    int64_t batch = 0, place = 0, head = 0;  // strides
  };
  /// Offsets into a lane's memory (LaneLayout).
  struct Lane {
    int64_t tiles = 0, rows = 0, queries = 0, keys = 0, values = 0, others = 0;
    int64_t first_sums = 0, second_sums = 0, query_sums = 0, elements = 0;
  };

  PreparedAttention() = default;
  PreparedAttention(const KernelCode& kernel, const SymbolValues& values);

  /// `arguments` are the step's; `args` gives all other values except the block.
  void run(const KernelFunctions& functions, const std::vector<void*>& arguments,
           const KernelArgs& args) const;

  const BlockedAttention* attention = nullptr;
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, items = 0;
  std::vector<Matrix> matrices;
  int64_t places_batch = 0, places_stride = 0;  // of the numbers of keys' rows in their table
  Lane lane;

  const AttentionSpec& spec() const { return attention->spec; }
  int64_t width() const { return attention->spec.width; }
  int64_t group() const { return heads / key_heads; }
  int64_t query_blocks() const { return (queries + attention->tiles.queries - 1) / attention->tiles.queries; }
};

}  // namespace smelt
