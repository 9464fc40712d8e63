// The values of a kernel's instructions. `id` is the number of an instruction in Kernel::instructions. A
// column value (one value per column) that later blocks read is stored in an array on the stack, and loaded
// again by these blocks.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/kernel_context.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Table from the instructions of one kernel to the LLVM values that were emitted for them.
class KernelValues {
 public:
  using V = llvm::Value*;

  explicit KernelValues(KernelContext& context)
      : c_(context), b(context.b), values_(context.kernel.instructions.size()) {}

  void set(int id, V value) { values_[id] = value; }
  /// Records that the value of an instruction is stored in `array`, which has one element of `type` per
  /// column of the current tile.
  void set_array(int id, V array, llvm::Type* type);
  /// Stores a value in an array for later blocks, if the schedule caches it (Schedule::cached).
  void keep_cached(int id);
  /// Forgets the values that were loaded from arrays, so that the next use of each loads it again. Called
  /// when the current columns change.
  void forget_loaded_columns();

  /// Returns the value of an instruction. If the value is in an array that an earlier block has stored, emits
  /// a load. Throws Error (internal) if the instruction has no value yet.
  V value_of(int id);
  V value_as(int id, ComputeKind kind) { return c_.math.coerce(value_of(id), kind); }
  V index_of(int id) { return value_as(id, ComputeKind::wide); }
  /// Returns one flag (i1) per lane. The flag is true if the lane is active and the value of the instruction
  /// `predicate` is true for this lane. If `predicate` is -1, the flag is true if the lane is active, and the
  /// result is null if all lanes are active.
  V active_mask(int predicate);
  /// Returns the position (i64) of the current element in a row-major array. The dims of the array are the
  /// extents of `axes`. The current element is that of lane 0. If an axis begins at an index other than 0
  /// (KernelAxis::begin), its indices are counted from there.
  V flat_index(llvm::ArrayRef<int> axes);

 private:
  /// An array on the stack, with one element per column of the tile, or of the whole row.
  struct ColumnArray {
    V array = nullptr;
    llvm::Type* type = nullptr;
    bool whole_row = false;
  };
  V load(const ColumnArray& columns);
  V element_pointer(const ColumnArray& columns);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  std::vector<V> values_;
  llvm::DenseMap<int, ColumnArray> arrays_;
};

}  // namespace smelt
