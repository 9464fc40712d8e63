#include "codegen/cpu/emitters/access_emitter.h"

#include "codegen/cpu/reducer.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

// ---- loads

V AccessEmitter::load(int id) {
  const Instruction& x = c_.instruction(id);
  const DType type = c_.param(x).dtype;
  const LaneAddress address = addresses_.address_of(id);
  V mask = values_.active_mask(x.predicate);
  const bool equal = address.pointers == nullptr && !address.adjacent;
  if (c_.place.lanes.width == 1 || (equal && x.predicate < 0))
    return c_.memory.unpack(load_scalar(address.pointer, type, x.predicate < 0 ? nullptr : mask), type);
  return c_.memory.unpack(load_lanes(address, type, mask), type);
}

V AccessEmitter::load_scalar(V pointer, DType type, V predicate) {
  if (predicate != nullptr) pointer = b.CreateSelect(predicate, pointer, c_.frame.zero_slot);
  return b.CreateAlignedLoad(c_.memory.element(type), pointer, alignment_of(type));
}

V AccessEmitter::load_lanes(const LaneAddress& address, DType type, V mask) {
  llvm::Type* lanes = lanes_of(c_.memory.element(type), c_.place.lanes.width);
  V zero = llvm::Constant::getNullValue(lanes);
  if (!address.adjacent)
    return b.CreateMaskedGather(lanes, pointers_of(address), alignment_of(type), mask, zero);
  if (mask == nullptr) return b.CreateAlignedLoad(lanes, address.pointer, alignment_of(type));
  return b.CreateMaskedLoad(lanes, address.pointer, alignment_of(type), mask, zero);
}

V AccessEmitter::pointers_of(const LaneAddress& address) {
  if (address.pointers != nullptr) return address.pointers;
  return b.CreateVectorSplat(c_.place.lanes.width, address.pointer);
}

// ---- stores

void AccessEmitter::store(int id) {
  const Instruction& x = c_.instruction(id);
  const DType type = c_.param(x).dtype;
  V value = values_.value_of(x.operands[0]);
  V packed = c_.memory.pack(value, type, is_rounded(x.operands[0], type));
  packed = c_.math.widen(packed, c_.place.lanes.width);
  V mask = store_mask(x);
  store_value(addresses_.address_of(id), type, packed, mask);
}

/// The value is already one of `type`.
bool AccessEmitter::is_rounded(int id, DType type) const {
  const Instruction& x = c_.instruction(id);
  return (x.kind == Kind::convert && x.dtype == type) || (x.kind == Kind::load && c_.param(x).dtype == type);
}

/// Row scalars are stored once a row, partial sums by every chunk.
V AccessEmitter::store_mask(const Instruction& x) {
  V mask = values_.active_mask(x.predicate), once = c_.place.may_store_row;
  if (c_.place.lanes.inner || once == nullptr || c_.param(x).partial) return mask;
  return mask == nullptr ? once : b.CreateAnd(mask, once);
}

void AccessEmitter::store_value(const LaneAddress& address, DType type, V packed, V mask) {
  if (c_.place.lanes.width > 1) return store_lanes(address, type, packed, mask);
  V pointer = address.pointer;
  if (mask != nullptr) pointer = b.CreateSelect(mask, pointer, c_.frame.sink_slot);
  b.CreateAlignedStore(packed, pointer, alignment_of(type));
}

void AccessEmitter::store_lanes(const LaneAddress& address, DType type, V packed, V mask) {
  if (!address.adjacent)
    b.CreateMaskedScatter(packed, pointers_of(address), alignment_of(type), mask);
  else if (mask == nullptr)
    b.CreateAlignedStore(packed, address.pointer, alignment_of(type));
  else
    b.CreateMaskedStore(packed, address.pointer, alignment_of(type), mask);
}

// ---- accumulation

/// Lanes that may hit the same element are added one after the other, or summed first where all do.
void AccessEmitter::accumulate(int id) {
  const Instruction& x = c_.instruction(id);
  if (c_.param(x).dtype != DType::f32) c_.reject(id, "accumulates into a parameter that is not f32");
  const int width = c_.place.lanes.width;
  V value = c_.math.widen(values_.value_as(x.operands[0], ComputeKind::real), width);
  V mask = values_.active_mask(x.predicate);
  const LaneAddress address = addresses_.address_of(id);
  if (width == 1 || address.adjacent) return accumulate_adjacent(address.pointer, value, mask);
  if (mask != nullptr) value = b.CreateSelect(mask, value, c_.math.constant(value, 0));
  if (address.pointers != nullptr) return accumulate_each_lane(address.pointers, value, mask);
  accumulate_sum(address.pointer, value);
}

void AccessEmitter::accumulate_adjacent(V pointer, V value, V mask) {
  const llvm::Align align = alignment_of(DType::f32);
  if (c_.place.lanes.width == 1) {
    if (mask != nullptr) pointer = b.CreateSelect(mask, pointer, c_.frame.sink_slot);
    mask = nullptr;
  }
  const LaneAddress address = {.pointer = pointer, .adjacent = true};
  V before = mask == nullptr ? static_cast<V>(b.CreateAlignedLoad(value->getType(), pointer, align))
                             : load_lanes(address, DType::f32, mask);
  store_value(address, DType::f32, b.CreateFAdd(before, value), mask);
}

void AccessEmitter::accumulate_sum(V pointer, V value) {
  V sum = Reducer(b, c_.math, ReduceOp::add).across({value})[0];
  V before = b.CreateAlignedLoad(b.getFloatTy(), pointer, alignment_of(DType::f32));
  b.CreateAlignedStore(b.CreateFAdd(before, sum), pointer, alignment_of(DType::f32));
}

void AccessEmitter::accumulate_each_lane(V pointers, V value, V mask) {
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(c_.place.lanes.width); ++lane) {
    V pointer = b.CreateExtractElement(pointers, lane);
    if (mask != nullptr)
      pointer = b.CreateSelect(b.CreateExtractElement(mask, lane), pointer, c_.frame.sink_slot);
    V before = b.CreateAlignedLoad(b.getFloatTy(), pointer, alignment_of(DType::f32));
    V after = b.CreateFAdd(before, b.CreateExtractElement(value, lane));
    b.CreateAlignedStore(after, pointer, alignment_of(DType::f32));
  }
}

}  // namespace smelt
