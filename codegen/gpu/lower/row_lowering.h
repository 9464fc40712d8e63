// The body of a kernel without reduced axes. A thread group ("team") processes a row. If the kernel has no
// rows, but only a single column axis (Schedule::flat), each thread block processes a part of the columns.
#pragma once

#include "codegen/gpu/lower/accumulator_lowering.h"
#include "codegen/gpu/lower/block_lowerings.h"
#include "codegen/gpu/lower/column_lowering.h"

namespace smelt::gpu {

class RowLowering {
 public:
  RowLowering(LoweringContext& context, BlockLowerings& lowerings);
  void lower();

 private:
  void declare_threads();
  void lower_row_of_team();
  void lower_walk();
  void lower_flat_range();
  void declare_share_of_walk();
  Expr share_of_flat_range();
  void declare_range(const Expr& begin, const Expr& end);
  void declare_share(const Expr& begin, const Expr& share);
  void lower_blocks(Jump skip);

  LoweringContext& c_;
  BlockLowerings& lowerings_;
  ColumnLowering columns_;
  AccumulatorLowering accumulators_;
};

}  // namespace smelt::gpu
