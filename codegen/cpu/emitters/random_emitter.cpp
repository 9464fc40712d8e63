#include "codegen/cpu/emitters/random_emitter.h"

#include "codegen/cpu/emit_llvm.h"

namespace smelt {

using V = llvm::Value*;

bool RandomEmitter::has_tile_draws(const BlockNest& nest) const {
  return llvm::any_of(nest.block->instructions, [&](int id) { return draws_tile(nest, id); });
}

bool RandomEmitter::draws_tile(const BlockNest& nest, int id) const {
  const Instruction& x = c_.instruction(id);
  return x.kind == Instruction::Kind::random && c_.shape.inner >= 0 && x.random_axis == c_.shape.inner &&
         c_.width > 1 && nest.in_vectors(id) && !has_a_row_per_lane(x);
}

/// The inner axis moves along the rows of the random op's own shape.
bool RandomEmitter::has_a_row_per_lane(const Instruction& x) const {
  const int inner = c_.shape.inner;
  return inner < static_cast<int>(x.random_strides.size()) && !x.random_strides[inner].is_zero();
}

void RandomEmitter::draw_tile(const BlockNest& nest, V limit) {
  tiles_.clear();
  for (int id : nest.block->instructions)
    if (draws_tile(nest, id)) tiles_[id] = draw_array(id, limit);
}

V RandomEmitter::draw_array(int id, V limit) {
  V array = c_.frame.alloca_array(b.getInt16Ty(), c_.tile + c_.width + 16 + PhiloxCode::kColumns);
  const Instruction& x = c_.instruction(id);
  V begin = c_.dim(x.random_begin), first_row = row(x);
  V first = first_group(b.CreateAdd(c_.place.tile_first, begin));
  emit_loop(b, first, b.CreateAdd(limit, begin), PhiloxCode::kColumns, [&](V at) {
    V group = b.CreateTrunc(b.CreateLShr(at, 3), b.getInt32Ty());
    V drawn = b.CreateGEP(b.getInt16Ty(), array, b.CreateSub(at, first));
    philox_.fill(stream_of(id), first_row, group, drawn);
  });
  return array;
}

/// The first of the columns that are drawn together with this one.
V RandomEmitter::first_group(V column) { return b.CreateAnd(column, b.getInt64(-8)); }

V RandomEmitter::bits(int id) {
  const Instruction& x = c_.instruction(id);
  const Lanes& lanes = c_.place.lanes;
  if (const auto tile = tiles_.find(id); lanes.inner && tile != tiles_.end())
    return load_drawn(x, tile->second);
  V rows = lanes.width > 1 && has_a_row_per_lane(x) ? lane_rows(x) : row(x);
  return philox_.bits(stream_of(id), rows, column(x));
}

V RandomEmitter::column(const Instruction& x) {
  V begin = b.CreateTrunc(c_.dim(x.random_begin), b.getInt32Ty());
  if (x.random_axis < 0) return begin;
  V index = c_.axis_index(x.random_axis);
  if (x.random_begin.is_zero()) return index;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  return b.CreateAdd(index, vector ? b.CreateVectorSplat(vector->getNumElements(), begin) : begin);
}

PhiloxStream RandomEmitter::stream_of(int id) const {
  const int slot = c_.instruction(id).slot;
  if (!c_.frame.has_random_slot(slot)) c_.reject(id, "has no slot in random_ids");
  return c_.frame.random_stream(slot);
}

V RandomEmitter::load_drawn(const Instruction& x, V array) {
  const Lanes& lanes = c_.place.lanes;
  V begin = c_.dim(x.random_begin);
  V first = first_group(b.CreateAdd(c_.place.tile_first, begin));
  V drawn = b.CreateGEP(b.getInt16Ty(), array, b.CreateSub(b.CreateAdd(lanes.first, begin), first));
  V raw = b.CreateAlignedLoad(lanes_of(b.getInt16Ty(), lanes.width), drawn, llvm::Align(2));
  return b.CreateZExt(raw, with_element(raw->getType(), b.getInt32Ty()));
}

/// i32: the flattened row of the random op's own shape, of lane 0.
V RandomEmitter::row(const Instruction& x) {
  V row = c_.dim(x.random_offset);
  for (size_t axis = 0; axis < x.random_strides.size(); ++axis)
    if (!x.random_strides[axis].is_zero())
      row = b.CreateAdd(row, b.CreateMul(c_.place.indices[axis], c_.dim(x.random_strides[axis])));
  return b.CreateTrunc(row, b.getInt32Ty());
}

V RandomEmitter::lane_rows(const Instruction& x) {
  const int lanes = c_.place.lanes.width;
  V first = row(x);
  V stride = b.CreateTrunc(c_.dim(x.random_strides[c_.shape.inner]), b.getInt32Ty());
  return b.CreateAdd(b.CreateVectorSplat(lanes, first),
                     b.CreateMul(lane_numbers(b.getInt32Ty(), lanes), b.CreateVectorSplat(lanes, stride)));
}

}  // namespace smelt
