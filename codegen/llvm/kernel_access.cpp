// Addresses, loads, stores and accumulation.
#include "codegen/llvm/kernel_emitter.h"
#include "runtime/error.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

namespace {
const Dim& inner_stride(const Access& access, int axis) {
  static const Dim zero;
  return axis < 0 || axis >= static_cast<int>(access.strides.size()) ? zero : access.strides[axis];
}
}  // namespace

/// The pointer at the current indices, less what moves along the vectors: that is added in them. An index
/// computed outside of the vectors is included.
V KernelEmitter::base_pointer(const Instruction& x, bool with_inner) {
  const Access& access = x.access;
  V index = dim(access.offset);
  for (size_t axis = 0; axis < access.strides.size(); ++axis) {
    const bool skipped = !with_inner && static_cast<int>(axis) == shape_.inner;
    if (access.strides[axis].is_zero() || skipped) continue;
    index = b.CreateAdd(index, b.CreateMul(axis_values_[axis], dim(access.strides[axis])));
  }
  if (access.computed >= 0 && (with_inner || !shape_.moves(access.computed, shape_.inner))) {
    V computed = b.CreateSExt(math_.coerce(value_of(access.computed), ComputeKind::integer), b.getInt64Ty());
    index = b.CreateAdd(index, b.CreateMul(computed, dim(access.computed_stride)));
  }
  return b.CreateGEP(memory_.element(kernel_.params[access.param].dtype), bases_[access.param], index);
}

/// Before the vectors of a nest: what their accesses have in common.
void KernelEmitter::prepare_accesses(const Nest& nest) {
  prepared_.clear();
  for (int id : nest.block->instructions)
    if (instruction(id).access.param >= 0 && nest.in_vectors(id))
      prepared_[id] = base_pointer(instruction(id), false);
}

KernelEmitter::Address KernelEmitter::address_of(int id) {
  const Instruction& x = instruction(id);
  if (!lanes_.inner || shape_.inner < 0) return {.pointer = base_pointer(x, true)};
  llvm::Type* type = memory_.element(kernel_.params[x.access.param].dtype);
  const Dim& stride = inner_stride(x.access, shape_.inner);
  V base = prepared_[id];
  const bool computed = x.access.computed >= 0 && shape_.moves(x.access.computed, shape_.inner);
  if (!computed && stride.is_zero()) return {.pointer = base};
  if (!computed && (stride.is_one() || lanes_.width == 1)) {
    V index = stride.is_one() ? lanes_.first : b.CreateMul(lanes_.first, dim(stride));
    return {.pointer = b.CreateGEP(type, base, index), .adjacent = true};
  }
  llvm::Type* wide = lanes_of(b.getInt64Ty(), lanes_.width);
  V index = llvm::Constant::getNullValue(wide);
  if (!stride.is_zero()) {
    V lanes =
        b.CreateAdd(math_.widen(lanes_.first, lanes_.width), lane_numbers(b.getInt64Ty(), lanes_.width));
    index = b.CreateMul(lanes, math_.widen(dim(stride), lanes_.width));
  }
  if (computed) {
    V value = math_.coerce(value_of(x.access.computed), ComputeKind::integer);
    V wider = b.CreateSExt(math_.widen(value, lanes_.width), wide);
    index = b.CreateAdd(index, b.CreateMul(wider, math_.widen(dim(x.access.computed_stride), lanes_.width)));
  }
  if (lanes_.width == 1) return {.pointer = b.CreateGEP(type, base, index), .adjacent = true};
  return {.pointers = b.CreateGEP(type, base, index)};
}

/// The lanes (or the scalar) that are on and whose predicate holds; null where that is all.
V KernelEmitter::active_mask(int predicate) {
  if (predicate < 0) return lanes_.mask;
  V on = math_.widen(math_.coerce(value_of(predicate), ComputeKind::flag), lanes_.width);
  return lanes_.mask == nullptr ? on : b.CreateAnd(lanes_.mask, on);
}

V KernelEmitter::emit_load(int id) {
  const Instruction& x = instruction(id);
  const DType type = kernel_.params[x.access.param].dtype;
  const Address address = address_of(id);
  V mask = active_mask(x.predicate);
  llvm::Type* raw = memory_.element(type);
  llvm::Type* lanes = lanes_of(raw, lanes_.width);
  if (lanes_.width == 1 || (address.pointers == nullptr && !address.adjacent && x.predicate < 0)) {
    V pointer = address.pointer;
    if (x.predicate >= 0) pointer = b.CreateSelect(mask, pointer, zero_slot_);
    return memory_.unpack(b.CreateAlignedLoad(raw, pointer, alignment(type)), type);
  }
  V zero = llvm::Constant::getNullValue(lanes);
  if (address.adjacent)
    return memory_.unpack(mask == nullptr
                              ? static_cast<V>(b.CreateAlignedLoad(lanes, address.pointer, alignment(type)))
                              : b.CreateMaskedLoad(lanes, address.pointer, alignment(type), mask, zero),
                          type);
  V pointers = address.pointers ? address.pointers : b.CreateVectorSplat(lanes_.width, address.pointer);
  return memory_.unpack(b.CreateMaskedGather(lanes, pointers, alignment(type), mask, zero), type);
}

bool KernelEmitter::is_rounded(int id, DType type) const {
  const Instruction& x = instruction(id);
  return (x.kind == Kind::convert && x.dtype == type) ||
         (x.kind == Kind::load && kernel_.params[x.access.param].dtype == type);
}

void KernelEmitter::emit_store(int id) {
  const Instruction& x = instruction(id);
  const DType type = kernel_.params[x.access.param].dtype;
  V packed = math_.widen(memory_.pack(operand(x, 0), type, is_rounded(x.operands[0], type)), lanes_.width);
  V mask = active_mask(x.predicate);
  const bool partial = kernel_.params[x.access.param].partial;
  if (!lanes_.inner && may_store_row_ != nullptr && !partial)
    mask = mask == nullptr ? may_store_row_ : b.CreateAnd(mask, may_store_row_);
  store_value(address_of(id), type, packed, mask);
}

void KernelEmitter::store_value(const Address& address, DType type, V packed, V mask) {
  if (lanes_.width == 1) {
    V pointer = mask == nullptr ? address.pointer : b.CreateSelect(mask, address.pointer, sink_slot_);
    b.CreateAlignedStore(packed, pointer, alignment(type));
  } else if (address.adjacent) {
    if (mask == nullptr)
      b.CreateAlignedStore(packed, address.pointer, alignment(type));
    else
      b.CreateMaskedStore(packed, address.pointer, alignment(type), mask);
  } else {
    V pointers = address.pointers ? address.pointers : b.CreateVectorSplat(lanes_.width, address.pointer);
    b.CreateMaskedScatter(packed, pointers, alignment(type), mask);
  }
}

/// Lanes that may hit the same element are added one after the other, or summed first where all do.
void KernelEmitter::emit_accumulate(int id) {
  const Instruction& x = instruction(id);
  const DType type = kernel_.params[x.access.param].dtype;
  if (type != DType::f32) reject(id, "accumulates into a parameter that is not f32");
  V value = math_.widen(math_.coerce(operand(x, 0), ComputeKind::real), lanes_.width);
  V mask = active_mask(x.predicate);
  const Address address = address_of(id);
  if (lanes_.width > 1 && !address.adjacent && mask != nullptr)
    value = b.CreateSelect(mask, value, math_.constant(value, 0));
  if (address.pointers != nullptr) return accumulate_lanes(address, type, value, mask);
  if (lanes_.width > 1 && !address.adjacent) {
    V sum = Reducer(b, math_, ReduceOp::add).across({value})[0];
    V before = b.CreateAlignedLoad(b.getFloatTy(), address.pointer, alignment(type));
    b.CreateAlignedStore(b.CreateFAdd(before, sum), address.pointer, alignment(type));
    return;
  }
  V pointer = address.pointer;
  if (lanes_.width == 1 && mask != nullptr) pointer = b.CreateSelect(mask, pointer, sink_slot_);
  llvm::Type* lanes = value->getType();
  V before =
      lanes_.width > 1 && mask != nullptr
          ? b.CreateMaskedLoad(lanes, pointer, alignment(type), mask, llvm::Constant::getNullValue(lanes))
          : static_cast<V>(b.CreateAlignedLoad(lanes, pointer, alignment(type)));
  store_value({.pointer = pointer, .adjacent = true}, type, b.CreateFAdd(before, value),
              lanes_.width > 1 ? mask : nullptr);
}

void KernelEmitter::accumulate_lanes(const Address& address, DType type, V value, V mask) {
  for (int lane = 0; lane < lanes_.width; ++lane) {
    V pointer = b.CreateExtractElement(address.pointers, static_cast<uint64_t>(lane));
    if (mask != nullptr)
      pointer =
          b.CreateSelect(b.CreateExtractElement(mask, static_cast<uint64_t>(lane)), pointer, sink_slot_);
    V before = b.CreateAlignedLoad(b.getFloatTy(), pointer, alignment(type));
    V after = b.CreateFAdd(before, b.CreateExtractElement(value, static_cast<uint64_t>(lane)));
    b.CreateAlignedStore(after, pointer, alignment(type));
  }
}

}  // namespace smelt
