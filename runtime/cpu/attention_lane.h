// Computation of the work items of a part of attention (attention.h) by one thread, which has its own memory.
#pragma once

#include "runtime/cpu/attention.h"

namespace smelt {

/// One lane: a thread of a parallel region, with its memory.
class AttentionLane {
 public:
  /// `memory` has attention.lane.elements elements. `arguments` and `args` are those of
  /// PreparedAttention::run. Requires: `attention` and `functions` outlive this object.
  AttentionLane(const PreparedAttention& attention, const KernelFunctions& functions,
                const std::vector<void*>& arguments, const KernelArgs& args, float* memory);

  /// Computes the work item with this number, which is less than PreparedAttention::items.
  void run(int64_t item);

 private:
  /// Block of the scores of query head h of batch b: `queries` queries and `keys` keys.
  struct Block {
    int64_t b = 0, h = 0, first_query = 0, queries = 0, first_key = 0, keys = 0;
  };
  /// f32 vectors of one head, such as its queries, `stride` elements apart.
  struct Rows {
    const float* at = nullptr;
    int64_t stride = 0;
  };
  using Matrix = PreparedAttention::Matrix;

  // ---- parts of attention (AttentionPart): forward, gradients, element_gradient
  void forward(int64_t item);
  void add_forward(const Block& block, const Rows& q, float* y);
  void finish_forward(const Block& block, float* y);
  void gradients(int64_t item);
  void clear_gradients(int64_t b, int64_t key_head);
  void run_gradient_body(const Block& block, const Rows& k, const Rows& v, const Rows& q, const Rows& dy);
  void add_gradients(const Block& block, const Rows& k, const Rows& v);
  void add_argument_sums(const Block& block);
  void element_gradient(int64_t item);
  void add_elements(const Block& block, float* sums);

  // ---- blocks
  Block query_block(int64_t b, int64_t h, int64_t index) const;
  template <typename F>
  void for_key_blocks(Block block, const F& f) const;
  template <typename F>
  void for_query_blocks(Block block, const F& f) const;
  /// Returns whether any query of the block may see any key of the block.
  bool sees(const Block& block);
  /// Runs the kernel's code, the score_mod, on the block's tiles (runtime/plan/attention_spec.h).
  void body(const Block& block);
  KernelArgs args_of(const Block& block) const;
  int64_t first_row(const Block& block) const;
  /// Sets the pointer of tile number `tile`, which begins at `at`. A tile has one number per query of a block
  /// if `is_row`, else one per score. The kernel's code indexes tiles by positions in the whole attention, so
  /// the offset of the block's first position is subtracted from the pointer.
  void set_tile(int tile, float* at, const Block& block, bool is_row);

  // ---- matrices, by number in PreparedAttention::matrices
  /// Returns `count` vectors as f32, from position `first` on: in place if possible, else a copy in
  /// `scratch`.
  Rows read(size_t matrix, int64_t b, int64_t head, int64_t first, int64_t count, float* scratch) const;
  /// Writes `count` vectors, rounded to the matrix's type.
  void write(size_t matrix, int64_t b, int64_t head, int64_t first, int64_t count, const float* from) const;
  Rows queries_of(size_t matrix, const Block& block, float* scratch) const;
  Rows keys_of(size_t matrix, const Block& block, float* scratch) const;
  /// Does the same as keys_of, for keys that are rows of a table. The parameter BlockedAttention::places has
  /// their row numbers.
  Rows keys_in_table(size_t matrix, const Block& block, float* scratch) const;
  /// Does the same for keys (matrix 1) or values (2) that are codes: the codes times their scales.
  Rows scaled_codes(size_t matrix, const Block& block, float* scratch) const;
  /// Returns the place in the cache of a key of the batch's row: its number, or its row in the table.
  int64_t place_of(const Block& block, int64_t key) const;
  float* argument(int64_t param) const { return static_cast<float*>(buffers_[static_cast<size_t>(param)]); }

  // ---- memory
  float* tile(int64_t index) const;
  /// Returns list number `index` of the lists that have one number per query of a block (LaneLayout::rows).
  float* row_list(int64_t index) const;
  float* query_sums(int64_t head) const;
  bool is_row_sum(size_t sum) const;
  int64_t tile_queries() const { return a_.attention->tiles.queries; }
  int64_t tile_keys() const { return a_.attention->tiles.keys; }

  const PreparedAttention& a_;
  const KernelFunctions& functions_;
  KernelArgs args_;
  float* memory_;
  std::vector<void*> buffers_;  // the step's arguments, then tiles
  size_t arguments_;            // number of the step's arguments
  int old_ = 0;  // there are two lists of row maxima, and two of sums; those with number old_ are current
};

/// Product of row-major f32 matrices: C[m,n] += factor A B if `adds`, else C = factor A B. A is [m,k], and B
/// is [k,n]; a transposed matrix is stored as [k,m] or [n,k]. Strides are the elements from row to row.
struct RowProduct {
  int64_t m = 0, n = 0, k = 0;
  float factor = 1;
  bool transposes_a = false, transposes_b = false, adds = true;
  void run(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c,
           int64_t c_stride) const;
};

}  // namespace smelt
