// The addresses that instructions access. The part of an address that is the same for all vectors of the
// innermost loop is computed once, before the loop. Each vector adds the number of its first column, times
// the stride. `id` is the number of an instruction in Kernel::instructions.
#pragma once

#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The addresses that the lanes access, in one of three forms:
///   adjacent elements   `pointer` is the address of lane 0, and `adjacent` is true
///   one element         all lanes access the element at `pointer`
///   any elements        `pointers` is a vector with one address per lane, and `pointer` is null
struct LaneAddress {
  llvm::Value* pointer = nullptr;
  llvm::Value* pointers = nullptr;  // null in the first two forms
  bool adjacent = false;
};

/// Emits the address computations of one kernel's loads, stores and accumulations.
class AddressEmitter {
 public:
  using V = llvm::Value*;

  AddressEmitter(KernelContext& context, KernelValues& values) : c_(context), b(context.b), values_(values) {}

  /// Computes, for each access in the loop over vectors of `nest` (the loops of a block), the part of the
  /// address that all vectors have in common. Called before that loop.
  void prepare(const BlockNest& nest);
  /// Returns the addresses that an instruction accesses in the current lanes (KernelPlace::lanes).
  LaneAddress address_of(int id);
  /// Returns the address of an access at the current indices along all axes but the inner one (the kernel's
  /// last column axis), and at column 0 of the inner axis.
  V row_pointer(const Instruction& x);

 private:
  // Access (ir/kernel/kernel.h) is a sum of index * stride over the axes, and optionally an index that an
  // instruction computes ("computed").
  V element_pointer(const Instruction& x);
  V strided_index(const Access& access, int skipped_axis);
  V with_computed_index(const Access& access, V index);
  V lane_indices(const Access& access);
  bool has_computed_lanes(const Access& access) const;

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues& values_;
  llvm::DenseMap<int, V> row_pointers_;
};

}  // namespace smelt
