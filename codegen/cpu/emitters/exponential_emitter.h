// Online softmax, tile by tile: the reduction max_sumexp, which computes the maximum m of a row and the sum
// of exp(x - m). The exponentials of a tile are computed after the maximum of the tile is known, so exp is
// called once per element. If later blocks of the kernel read the exponentials, an array as long as a row
// keeps them. The exponentials of a tile are relative to the maximum that was known after this tile; one
// scale per tile converts them to the maximum of the row.
#pragma once

#include "codegen/cpu/emitters/accumulator.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/prefetch_emitter.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Emits the max_sumexp reductions of one kernel, and the later uses of their exponentials.
class ExponentialEmitter {
 public:
  using V = llvm::Value*;

  ExponentialEmitter(KernelContext& context, PrefetchEmitter& prefetches);

  /// Allocates the arrays of a max_sumexp (Accumulator::exponentials) and sets its maximum to -infinity.
  void begin(Accumulator& accumulator);
  /// Sets the tile's maximum to -infinity.
  void begin_tile(const Accumulator& accumulator);
  /// Stores the operand `x` of the current lanes in the array, and updates the tile's maximum.
  void add(const Accumulator& accumulator, V x);
  /// Computes the exponentials of the tile of columns [first, limit). Scales the sum so far to the new
  /// maximum, then adds the tile's sum.
  void finish_tile(const BlockNest& nest, const Accumulator& accumulator, V first, V limit);
  /// Returns the state of the whole row: its maximum m and the sum of exp(x - m).
  Reducer::State finish(const Accumulator& accumulator);

  /// Returns the value of an instruction of the form `kept` (Form in ir/kernel/kernel.h). The value is an
  /// exponential from the array of an earlier block's max_sumexp, times the scale of its tile. Returns null
  /// for instructions of other forms, and outside of the innermost loop.
  V kept_value(int id);

 private:
  /// Sums exp(x - against) over the columns [first, limit), one sum per lane, and returns the address of the
  /// sums. If later blocks read the exponentials, stores them in place of x. `against`: the maximum so far,
  /// or 0 if the maximum is infinite.
  V sum_of_tile(const Exponentials& exponentials, V against, V first, V limit);
  /// Before the call, exponentials.scales has the maximum that each tile used. Replaces each of them by the
  /// tile's scale, exp(tile's maximum - row's maximum).
  void finish_scales(const Exponentials& exponentials, V maximum);
  V element_pointer(const Exponentials& exponentials, V column);
  V scale_pointer(const Exponentials& exponentials, V column);
  bool is_kept(int reduction) const;
  V is_infinity(V maximum);
  llvm::Type* lanes() { return lanes_of(b.getFloatTy(), c_.width); }

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  PrefetchEmitter& prefetches_;
  llvm::DenseMap<int, int> kept_;                // the reduction of each instruction of the form `kept`
  llvm::DenseMap<int, Exponentials> kept_rows_;  // arrays of each such reduction
};

}  // namespace smelt
