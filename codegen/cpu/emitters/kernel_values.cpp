#include "codegen/cpu/emitters/kernel_values.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {

using V = llvm::Value*;

void KernelValues::set_array(int id, V array, llvm::Type* type) {
  arrays_[id] = {array, type};
  values_[id] = nullptr;
}

void KernelValues::forget_loaded_columns() {
  for (const auto& [id, array] : arrays_) values_[id] = nullptr;
}

V KernelValues::value_of(int id) {
  if (values_[id] == nullptr) {
    const auto array = arrays_.find(id);
    if (array == arrays_.end()) c_.reject(id, "is used before it has a value");
    values_[id] = load(array->second);
  }
  return values_[id];
}

V KernelValues::load(const ColumnArray& columns) {
  const Lanes& lanes = c_.place.lanes;
  if (!lanes.inner)
    fail_with(Status::internal, "kernel {}: a column value is read outside of columns", c_.kernel.name);
  V pointer = element_pointer(columns);
  V value = b.CreateAlignedLoad(lanes_of(columns.type, lanes.width), pointer, llvm::Align(1));
  return columns.type->isIntegerTy(8) ? c_.memory.unpack(value, DType::boolean) : value;
}

V KernelValues::element_pointer(const ColumnArray& columns) {
  V at = columns.whole_row ? flat_index(c_.shape.columns)
                           : b.CreateSub(c_.place.lanes.first, c_.place.row_begin);
  return b.CreateGEP(columns.type, columns.array, at);
}

/// Flags are kept as bytes.
void KernelValues::keep_cached(int id) {
  const std::vector<int>& cached = c_.schedule.cached;
  if (std::find(cached.begin(), cached.end(), id) == cached.end()) return;
  V value = c_.math.widen(values_[id], c_.place.lanes.width);
  if (kind_of(value) == ComputeKind::flag) value = c_.memory.pack(value, DType::boolean, true);
  ColumnArray& columns = arrays_[id];
  if (columns.array == nullptr) {
    llvm::Type* type = value->getType()->getScalarType();
    columns = {c_.frame.alloca_array(type, c_.row_elements() + c_.width), type, true};
  }
  b.CreateAlignedStore(value, element_pointer(columns), llvm::Align(1));
}

V KernelValues::active_mask(int predicate) {
  const Lanes& lanes = c_.place.lanes;
  if (predicate < 0) return lanes.mask;
  V on = c_.math.widen(value_as(predicate, ComputeKind::flag), lanes.width);
  return lanes.mask == nullptr ? on : b.CreateAnd(lanes.mask, on);
}

V KernelValues::flat_index(llvm::ArrayRef<int> axes) {
  V index = b.getInt64(0);
  for (int axis : axes) {
    const KernelAxis& extent = c_.kernel.axes[axis];
    V along = c_.place.indices[axis];
    if (extent.begin >= 0) along = b.CreateSub(along, b.CreateSExt(value_of(extent.begin), b.getInt64Ty()));
    index = b.CreateAdd(b.CreateMul(index, c_.dim(extent.extent)), along);
  }
  return index;
}

}  // namespace smelt
