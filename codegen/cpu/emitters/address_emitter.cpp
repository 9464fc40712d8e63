#include "codegen/cpu/emitters/address_emitter.h"

namespace smelt {

using V = llvm::Value*;

namespace {

const Dim& stride_along(const Access& access, int axis) {
  static const Dim zero;
  return axis < 0 || axis >= static_cast<int>(access.strides.size()) ? zero : access.strides[axis];
}

}  // namespace

void AddressEmitter::prepare(const BlockNest& nest) {
  row_pointers_.clear();
  for (int id : nest.block->instructions)
    if (c_.instruction(id).access.param >= 0 && nest.in_vectors(id))
      row_pointers_[id] = row_pointer(c_.instruction(id));
}

LaneAddress AddressEmitter::address_of(int id) {
  const Instruction& x = c_.instruction(id);
  const Lanes& lanes = c_.place.lanes;
  if (!lanes.inner || c_.shape.inner < 0) return {.pointer = element_pointer(x)};
  V row = row_pointers_[id];
  const Dim& stride = stride_along(x.access, c_.shape.inner);
  const bool computed = has_computed_lanes(x.access);
  if (!computed && stride.is_zero()) return {.pointer = row};
  if (!computed && (stride.is_one() || lanes.width == 1)) {
    V index = stride.is_one() ? lanes.first : b.CreateMul(lanes.first, c_.dim(stride));
    return {.pointer = b.CreateGEP(c_.element_type(x), row, index), .adjacent = true};
  }
  V pointers = b.CreateGEP(c_.element_type(x), row, lane_indices(x.access));
  if (lanes.width == 1) return {.pointer = pointers, .adjacent = true};
  return {.pointers = pointers};
}

/// An index that is computed outside of the vectors is included.
V AddressEmitter::row_pointer(const Instruction& x) {
  V index = strided_index(x.access, c_.shape.inner);
  if (x.access.computed >= 0 && !has_computed_lanes(x.access)) index = with_computed_index(x.access, index);
  return b.CreateGEP(c_.element_type(x), c_.frame.bases[x.access.param], index);
}

V AddressEmitter::element_pointer(const Instruction& x) {
  V index = strided_index(x.access, -1);
  if (x.access.computed >= 0) index = with_computed_index(x.access, index);
  return b.CreateGEP(c_.element_type(x), c_.frame.bases[x.access.param], index);
}

V AddressEmitter::strided_index(const Access& access, int skipped_axis) {
  V index = c_.dim(access.offset);
  for (int axis = 0; axis < static_cast<int>(access.strides.size()); ++axis)
    if (!access.strides[axis].is_zero() && axis != skipped_axis)
      index = b.CreateAdd(index, b.CreateMul(c_.place.indices[axis], c_.dim(access.strides[axis])));
  return index;
}

V AddressEmitter::with_computed_index(const Access& access, V index) {
  V computed = values_.index_of(access.computed);
  return b.CreateAdd(index, b.CreateMul(computed, c_.dim(access.computed_stride)));
}

bool AddressEmitter::has_computed_lanes(const Access& access) const {
  return access.computed >= 0 && c_.shape.moves(access.computed, c_.shape.inner);
}

/// i64: what each lane adds to the pointer of its row.
V AddressEmitter::lane_indices(const Access& access) {
  const Lanes& lanes = c_.place.lanes;
  const auto widen = [&](V value) { return c_.math.widen(value, lanes.width); };
  llvm::Type* wide = lanes_of(b.getInt64Ty(), lanes.width);
  V index = llvm::Constant::getNullValue(wide);
  const Dim& stride = stride_along(access, c_.shape.inner);
  if (!stride.is_zero()) {
    V columns = b.CreateAdd(widen(lanes.first), lane_numbers(b.getInt64Ty(), lanes.width));
    index = b.CreateMul(columns, widen(c_.dim(stride)));
  }
  if (has_computed_lanes(access)) {
    V computed = widen(values_.value_as(access.computed, ComputeKind::wide));
    index = b.CreateAdd(index, b.CreateMul(computed, widen(c_.dim(access.computed_stride))));
  }
  return index;
}

}  // namespace smelt
