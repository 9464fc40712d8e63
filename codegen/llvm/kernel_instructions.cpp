// Instructions of a kernel, random bits among them.
#include "codegen/llvm/kernel_emitter.h"
#include "codegen/llvm/loops.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

void KernelEmitter::emit_instruction(const Nest& nest, int id) {
  const Instruction& x = instruction(id);
  switch (x.kind) {
    case Kind::constant:
      values_[id] = emit_constant(x);
      break;
    case Kind::index:
      values_[id] = axis_index(x.axis);
      break;
    case Kind::convert:
      values_[id] = x.operands.size() == 2 ? memory_.convert_stochastic(operand(x, 0), operand(x, 1))
                                           : memory_.convert(operand(x, 0), x.dtype);
      break;
    case Kind::random:
      values_[id] = emit_random(x, id);
      break;
    case Kind::load:
      values_[id] = emit_load(id);
      break;
    case Kind::store:
      emit_store(id);
      break;
    case Kind::accumulate:
      emit_accumulate(id);
      break;
    case Kind::reduce:
      emit_reduce(nest, id);
      break;
    case Kind::result:  // the second one is set where the reduction is finished
      if (x.slot == 0) values_[id] = operand(x, 0);
      break;
    case Kind::scalar: {
      values_[id] = kept_exponential(id);
      if (values_[id] != nullptr) break;
      llvm::SmallVector<V, 3> operands;
      for (int operand : x.operands) operands.push_back(value_of(operand));
      values_[id] = math_.apply(x.scalar_op, operands);
      break;
    }
  }
  if (lanes_.inner) keep_cached(id);
}

/// A value of this block, a row scalar, or a column value that an earlier block stored.
V KernelEmitter::value_of(int id) {
  if (values_[id] == nullptr) {
    const auto stored = stored_.find(id);
    if (stored == stored_.end()) reject(id, "is used before it has a value");
    values_[id] = load_stored(stored->second);
  }
  return values_[id];
}

V KernelEmitter::emit_constant(const Instruction& x) {
  llvm::Type* type = memory_.computed(x.dtype);
  if (type->isFloatTy()) return llvm::ConstantFP::get(type, x.number);
  if (type->isIntegerTy(1)) return b.getInt1(x.number != 0);
  return llvm::ConstantInt::getSigned(type, static_cast<int32_t>(static_cast<int64_t>(x.number)));
}

// ---- random bits
// --------------------------------------------------------------------------------------------------

PhiloxStream KernelEmitter::stream_of(const Instruction& x) {
  return {seed_, random_ids_[x.slot], step_, micro_step_};
}

/// i32: the flattened row of the random op's own shape, of lane 0.
V KernelEmitter::random_row(const Instruction& x) {
  V row = dim(x.random_offset);
  for (size_t axis = 0; axis < x.random_strides.size(); ++axis)
    if (!x.random_strides[axis].is_zero())
      row = b.CreateAdd(row, b.CreateMul(axis_values_[axis], dim(x.random_strides[axis])));
  return b.CreateTrunc(row, b.getInt32Ty());
}

/// One Philox call makes 8 neighbouring columns: worth an array where the columns are those of the inner
/// axis.
bool KernelEmitter::fills_tile(const Nest& nest, int id) const {
  const Instruction& x = instruction(id);
  if (x.kind != Kind::random || shape_.inner < 0 || x.random_axis != shape_.inner || width_ == 1)
    return false;
  const bool along =
      shape_.inner < static_cast<int>(x.random_strides.size()) && !x.random_strides[shape_.inner].is_zero();
  return nest.in_vectors(id) && !along;
}

void KernelEmitter::fill_random(const Nest& nest, V first, V limit) {
  tile_base_ = b.CreateAnd(first, b.getInt64(-8));
  random_tiles_.clear();
  for (int id : nest.block->instructions) {
    if (!fills_tile(nest, id)) continue;
    const Instruction& x = instruction(id);
    V place = alloca_array(b.getInt16Ty(), tile_ + width_ + 8 + PhiloxCode::kColumns);
    V row = random_row(x);
    emit_loop(b, tile_base_, limit, PhiloxCode::kColumns, [&](V at) {
      V group = b.CreateTrunc(b.CreateLShr(at, 3), b.getInt32Ty());
      philox_.fill(stream_of(x), row, group, b.CreateGEP(b.getInt16Ty(), place, b.CreateSub(at, tile_base_)));
    });
    random_tiles_[id] = place;
  }
}

V KernelEmitter::emit_random(const Instruction& x, int id) {
  if (x.slot < 0 || x.slot >= static_cast<int>(random_ids_.size())) reject(id, "has no slot in random_ids");
  const auto tile = lanes_.inner ? random_tiles_.find(id) : random_tiles_.end();
  if (tile != random_tiles_.end()) {
    V place = b.CreateGEP(b.getInt16Ty(), tile->second, b.CreateSub(lanes_.first, tile_base_));
    V raw = b.CreateAlignedLoad(lanes_of(b.getInt16Ty(), lanes_.width), place, llvm::Align(2));
    return b.CreateZExt(raw, with_element(raw->getType(), b.getInt32Ty()));
  }
  V row = random_row(x);
  const bool along = lanes_.width > 1 && shape_.inner < static_cast<int>(x.random_strides.size()) &&
                     !x.random_strides[shape_.inner].is_zero();
  if (along) {
    V stride = b.CreateTrunc(dim(x.random_strides[shape_.inner]), b.getInt32Ty());
    row = b.CreateAdd(
        b.CreateVectorSplat(lanes_.width, row),
        b.CreateMul(lane_numbers(b.getInt32Ty(), lanes_.width), b.CreateVectorSplat(lanes_.width, stride)));
  }
  return philox_.bits(stream_of(x), row,
                      x.random_axis < 0 ? b.getInt32(x.random_column) : axis_index(x.random_axis));
}

}  // namespace smelt
