// Online softmax, tile by tile: the exponentials of a tile are computed after its maximum, so each element
// has one exponential. If later blocks read the exponentials, these stay in a row of scratch memory, with a
// scale per tile.
#pragma once

#include "codegen/cpu/emitters/accumulator.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/prefetch_emitter.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

class ExponentialEmitter {
 public:
  using V = llvm::Value*;

  ExponentialEmitter(KernelContext& context, PrefetchEmitter& prefetches);

  /// Arrays of a max_sumexp.
  void begin(Accumulator& accumulator);
  void begin_tile(const Accumulator& accumulator);
  /// Adds the operand at the current lanes.
  void add(const Accumulator& accumulator, V x);
  /// Scales the sum to the new maximum, then adds the tile's sum.
  void finish_tile(const BlockNest& nest, const Accumulator& accumulator, V first, V limit);
  /// The state of the whole row.
  Reducer::State finish(const Accumulator& accumulator);

  /// Returns an exponential that a reduction of an earlier block has computed; null where there is none.
  V kept_value(int id);

 private:
  V sum_of_tile(const Exponentials& exponentials, V against, V first, V limit);
  void finish_scales(const Exponentials& exponentials, V maximum);
  V element_pointer(const Exponentials& exponentials, V column);
  V scale_pointer(const Exponentials& exponentials, V column);
  bool is_kept(int reduction) const;
  V is_infinity(V maximum);
  llvm::Type* lanes() { return lanes_of(b.getFloatTy(), c_.width); }

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  PrefetchEmitter& prefetches_;
  llvm::DenseMap<int, int> kept_;                // exponentials that a reduction leaves, with that reduction
  llvm::DenseMap<int, Exponentials> kept_rows_;  // by reduction
};

}  // namespace smelt
