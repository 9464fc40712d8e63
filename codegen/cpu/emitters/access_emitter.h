// Emission of the instructions that access memory: loads, stores, and accumulations (additions to partial
// sums in memory). `id` is the number of an instruction in Kernel::instructions. An instruction may have a
// predicate, which is evaluated for each lane. A lane whose predicate is false loads zero, and stores and
// accumulates nothing. A lane past the last column of a row accesses nothing either. Vector accesses use
// masks that switch such lanes off. A scalar access whose predicate is false accesses a slot on the stack
// instead of the kernel's parameter.
#pragma once

#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"

namespace smelt {

/// Emits one load, store or accumulation for the lanes for which code is being emitted (KernelPlace::lanes).
class AccessEmitter {
 public:
  using V = llvm::Value*;

  AccessEmitter(KernelContext& context, KernelValues& values, AddressEmitter& addresses)
      : c_(context), b(context.b), values_(values), addresses_(addresses) {}

  /// Emits a load, and returns the loaded elements, converted to the type in which the kernel computes.
  V load(int id);
  /// Rounds the operand of a store to the parameter's type, and stores it.
  void store(int id);
  /// Adds the value of each active lane to its element of a buffer of f32 partial sums.
  void accumulate(int id);

 private:
  // Masks and predicates have one i1 per lane; null means true in all lanes. `packed` are values in the type
  // that they have in memory.
  V load_scalar(V pointer, DType type, V predicate);
  V load_lanes(const LaneAddress& address, DType type, V mask);
  V store_mask(const Instruction& x);
  void store_value(const LaneAddress& address, DType type, V packed, V mask);
  void store_lanes(const LaneAddress& address, DType type, V packed, V mask);
  // Accumulation for the three forms of LaneAddress: adjacent elements, one element (which gets the sum of
  // all lanes), and any elements (one lane after the other).
  void accumulate_adjacent(V pointer, V value, V mask);
  void accumulate_sum(V pointer, V value);
  void accumulate_each_lane(V pointers, V value, V mask);
  V pointers_of(const LaneAddress& address);
  bool is_rounded(int id, DType type) const;

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues& values_;
  AddressEmitter& addresses_;
};

}  // namespace smelt
