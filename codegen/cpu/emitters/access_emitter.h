// Loads, stores and accumulations. `id` is the number of an instruction in Kernel::instructions. A lane whose
// predicate is false loads zero. Such a lane, and an inactive lane, changes no memory of the kernel's
// parameters. For this purpose vector accesses are masked, and a scalar access whose predicate is false
// accesses a slot on the stack instead of the parameter.
#pragma once

#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"

namespace smelt {

class AccessEmitter {
 public:
  using V = llvm::Value*;

  AccessEmitter(KernelContext& context, KernelValues& values, AddressEmitter& addresses)
      : c_(context), b(context.b), values_(values), addresses_(addresses) {}

  V load(int id);
  void store(int id);
  /// Adds the value of each active lane to its element of a buffer of partial sums.
  void accumulate(int id);

 private:
  V load_scalar(V pointer, DType type, V predicate);
  V load_lanes(const LaneAddress& address, DType type, V mask);
  V store_mask(const Instruction& x);
  void store_value(const LaneAddress& address, DType type, V packed, V mask);
  void store_lanes(const LaneAddress& address, DType type, V packed, V mask);
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
