// Reductions of a block of a kernel (KernelBlock in ir/kernel/kernel.h). A column block reduces along the
// columns; the state of such a reduction has one element per vector lane. A reduced block reduces along other
// axes; the state is then an array with one element per column of a tile. `id` is the number of a reduce
// instruction.
//
// A sum of many terms has two levels. A short sum, in f32, adds up the terms of a few runs; a run is one
// execution of the block's innermost loop. Each short sum is then added to a wide sum, in f64 or f32.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cpu/emitters/accumulator.h"
#include "codegen/cpu/emitters/emit_kernel.h"
#include "codegen/cpu/emitters/exponential_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"

namespace smelt {

/// Emits the reduce instructions of one block at a time. `begin` is called before the block's loops are
/// emitted, `finish` after them, and the other functions within them.
class ReductionEmitter {
 public:
  using V = llvm::Value*;

  ReductionEmitter(KernelContext& context, KernelValues& values, ExponentialEmitter& exponentials)
      : c_(context), b(context.b), values_(values), exponentials_(exponentials) {}

  /// Emits code before a block's loops, which allocates the states of its reductions and sets them to the
  /// identities.
  void begin(const BlockNest& nest);
  /// Emits code after a block's loops, which computes the results of its reductions from their states.
  void finish(const BlockNest& nest);

  /// Returns whether a reduction of the block works tile by tile. begin_tile and finish_tile emit code for
  /// such reductions before and after the vectors of a tile of columns [first, limit).
  bool has_tiled(const BlockNest& nest) const;
  void begin_tile();
  void finish_tile(const BlockNest& nest, V first, V limit);

  /// Emits code after a block's innermost loop, for sums of many terms. The code counts the runs. After a
  /// fixed number of runs it adds the short sums to the wide sums.
  void finish_run(const BlockNest& nest);

  /// Emits code that combines the current elements, one per lane, with the state of reduction `id`.
  void add(const BlockNest& nest, int id);

 private:
  using ChangeSums = void(llvm::IRBuilder<>&, const WideSums& at);

  bool is_tiled(const BlockNest& nest, int id) const;
  bool is_real_sum(int id) const;  // a sum that is computed in f32
  // Return the number of terms that a run adds to the sum of one lane, and the number of runs of a block;
  // nothing if the number is known only at launch.
  std::optional<int64_t> terms_of_run(const BlockNest& nest) const;
  std::optional<int64_t> runs_of(const BlockNest& nest) const;
  int64_t runs_of_short_sum(const BlockNest& nest) const;
  llvm::Type* type_of_wide_sums(const BlockNest& nest);
  /// Returns whether states are arrays with one element per column.
  bool has_column_states(const BlockNest& nest) const { return nest.is_reduced() && c_.shape.inner >= 0; }
  Accumulator& accumulator_of(int id);
  Reducer reducer_of(const Accumulator& accumulator) { return Reducer(b, c_.math, accumulator.op); }
  llvm::Type* vector_of(const Accumulator& accumulator) { return lanes_of(accumulator.type, c_.width); }

  void begin_accumulator(const BlockNest& nest, int id);
  void store_identity(const Accumulator& accumulator);
  void store_column_identities(const Accumulator& accumulator);

  // Parts of `add`. element: the current elements. element_index: their positions along the reduced axes.
  // masked: `lifted`, with the reduction's identity in the lanes that `mask` excludes. state_pointers: the
  // addresses of the states.
  V element(const Accumulator& accumulator);
  V element_index(const BlockNest& nest);
  Reducer::State masked(const BlockNest& nest, const Accumulator& accumulator, Reducer::State lifted, V mask);
  Reducer::State state_pointers(const BlockNest& nest, const Accumulator& accumulator);

  WideSums wide_sums_at(const Accumulator& accumulator, V at);
  void for_each_sum(const BlockNest& nest, const Accumulator& accumulator,
                    llvm::function_ref<ChangeSums> change);

  // Parts of `finish`. result_ids returns the instructions that have the results of a reduction; -1: none.
  llvm::SmallVector<int, 4> result_ids(int reduce) const;
  void finish_row(const Accumulator& accumulator);
  Reducer::State row_state(const Accumulator& accumulator);
  void finish_columns(const Accumulator& accumulator);
  void store_column_results(const Accumulator& accumulator, size_t count);
  V state_pointer(const Accumulator& accumulator, size_t scalar, V at);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues& values_;
  ExponentialEmitter& exponentials_;
  std::vector<Accumulator> accumulators_;  // of the current block
  /// Number of runs per short sum in the current block; 0: runs are not counted.
  int64_t runs_of_short_sum_ = 0;
  V run_counter_ = nullptr;  // address of the number of runs of the current short sum
};

}  // namespace smelt
