// The values of a kernel's instructions. Column values that later blocks read are stored in arrays on the
// stack and are loaded at each use.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/kernel_context.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

class KernelValues {
 public:
  using V = llvm::Value*;

  explicit KernelValues(KernelContext& context)
      : c_(context), b(context.b), values_(context.kernel.instructions.size()) {}

  void set(int id, V value) { values_[id] = value; }
  /// Records that the value of an instruction is stored in an array of a tile's columns.
  void set_array(int id, V array, llvm::Type* type);
  /// A copy of a value that the schedule caches, for later blocks.
  void keep_cached(int id);
  /// Makes arrays be loaded again, because the current columns have changed.
  void forget_loaded_columns();

  /// A value of this block, a row scalar, or a column value that an earlier block stored.
  V value_of(int id);
  V value_as(int id, ComputeKind kind) { return c_.math.coerce(value_of(id), kind); }
  V index_of(int id) { return value_as(id, ComputeKind::wide); }
  /// Returns the active lanes (or scalar) whose predicate holds; null where all are active.
  V active_mask(int predicate);
  /// Returns the position among the axes' elements in row-major order, i64, of lane 0; segments count from
  /// their begin.
  V flat_index(llvm::ArrayRef<int> axes);

 private:
  /// An array over the tile, or over the whole row.
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
