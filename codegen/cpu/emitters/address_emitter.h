// The addresses that instructions access. The innermost loop of a kernel processes one vector of columns at a
// time. The part of an address that is the same for all these vectors is computed once, before the loop. In
// the loop, the first column of the vector times the stride is added. `id` is the number of an instruction in
// Kernel::instructions.
#pragma once

#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The addresses that the lanes of an LLVM vector access, in one of three forms:
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

  /// Called before the innermost loop of `nest`, the loops of one block. For each access in that loop,
  /// computes the part of the address that is the same for all vectors.
  void prepare(const BlockNest& nest);
  /// Returns the addresses that an instruction accesses in the current lanes (KernelPlace::lanes).
  LaneAddress address_of(int id);
  /// Returns the address that `x` accesses at column 0 of the inner axis, which is the kernel's last column
  /// axis. Along all other axes, the index is the current one.
  V row_pointer(const Instruction& x);

 private:
  // The position of an Access (ir/kernel/kernel.h) is the sum of index * stride over the axes. Some accesses
  // add an index that an instruction computes; it is called "computed" here.
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
