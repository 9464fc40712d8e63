// Online softmax, a tile at a time: the exponentials of a tile wait for its maximum, so that there is one for
// each element. Where later blocks read them they stay in a row of scratch memory, with a scale for each
// tile.
#pragma once

#include "codegen/llvm/emitters/accumulator.h"
#include "codegen/llvm/emitters/kernel_context.h"
#include "codegen/llvm/emitters/prefetch_emitter.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

class ExponentialEmitter {
 public:
  using V = llvm::Value*;

  ExponentialEmitter(KernelContext& context, PrefetchEmitter& prefetches);

  /// Arrays of a max_sumexp.
  void begin(Accumulator& accumulator);
  void begin_tile(const Accumulator& accumulator);
  /// The operand at the lanes at hand.
  void add(const Accumulator& accumulator, V x);
  /// The sum so far is brought to the new maximum, then the tile's sum is added.
  void finish_tile(const BlockNest& nest, const Accumulator& accumulator, V first, V limit);
  /// The state of the whole row.
  Reducer::State finish(const Accumulator& accumulator);

  /// An exponential that a reduction of an earlier block has computed; null where there is none.
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
