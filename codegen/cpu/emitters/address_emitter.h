// The places in memory that instructions name. Vectors add their own column to a pointer that is computed
// once for all vectors of a nest.
#pragma once

#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The address of the element of each lane.
struct LaneAddress {
  llvm::Value* pointer = nullptr;   // of lane 0, or of all lanes
  llvm::Value* pointers = nullptr;  // one a lane, where they are neither equal nor adjacent
  bool adjacent = false;
};

class AddressEmitter {
 public:
  using V = llvm::Value*;

  AddressEmitter(KernelContext& context, KernelValues& values) : c_(context), b(context.b), values_(values) {}

  /// Computes, before the vectors of a nest, the common part of their addresses.
  void prepare(const BlockNest& nest);
  LaneAddress address_of(int id);
  /// Returns the pointer of an access at the current indices, without the offset along the vectors.
  V row_pointer(const Instruction& x);

 private:
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
