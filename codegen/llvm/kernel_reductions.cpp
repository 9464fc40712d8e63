// Reductions of a block, and column values kept for later blocks.
#include <algorithm>

#include "codegen/llvm/kernel_emitter.h"
#include "codegen/llvm/loops.h"
#include "runtime/error.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

/// Along the columns max_sumexp takes a tile's maximum first: one exponential an element. Long sums add up
/// tiles, so that small terms are not lost beside a large sum.
bool KernelEmitter::by_tiles(const Nest& nest, int id) const {
  if (nest.is_reduced() || shape_.inner < 0) return false;
  const ReduceOp op = instruction(id).reduce_op;
  return op == ReduceOp::max_sumexp || (op == ReduceOp::add && !one_tile());
}

bool KernelEmitter::has_tiled_reduction(const Nest& nest) const {
  return std::any_of(nest.block->instructions.begin(), nest.block->instructions.end(),
                     [&](int id) { return instruction(id).kind == Kind::reduce && by_tiles(nest, id); });
}

void KernelEmitter::begin_reductions(const Nest& nest) {
  accumulators_.clear();
  for (int id : nest.block->instructions)
    if (instruction(id).kind == Kind::reduce) begin_accumulator(nest, id);
}

namespace {
/// Flags are reduced as 0 and 1; exponentials are real.
llvm::Type* operand_type(llvm::IRBuilder<>& b, llvm::Type* type, ReduceOp op) {
  if (op == ReduceOp::max_sumexp) return b.getFloatTy();
  return type->isIntegerTy(1) ? b.getInt32Ty() : type;
}
}  // namespace

void KernelEmitter::begin_accumulator(const Nest& nest, int id) {
  const Instruction& x = instruction(id);
  if (!nest.is_reduced() && shape_.is_reduced()) reject(id, "reduces over columns that are cut into tiles");
  Accumulator accumulator{id, x.reduce_op, operand_type(b, memory_.computed(x.dtype), x.reduce_op)};
  const Reducer reducer(b, math_, x.reduce_op);
  const bool array = nest.is_reduced() && shape_.inner >= 0;
  llvm::Type* lanes = array ? accumulator.type : lanes_of(accumulator.type, shape_.inner < 0 ? 1 : width_);
  const int64_t count = array ? tile_ + width_ : 1;
  accumulator.first = alloca_array(lanes, count);
  if (reducer.has_second()) accumulator.second = alloca_array(reducer.second_type(lanes), count);
  if (by_tiles(nest, id) && x.reduce_op == ReduceOp::add) accumulator.tile_sum = alloca_array(lanes, 1);
  if (by_tiles(nest, id) && x.reduce_op == ReduceOp::max_sumexp) begin_exponentials(accumulator);
  store_identity(nest, accumulator);
  accumulators_.push_back(accumulator);
}

void KernelEmitter::store_identity(const Nest& nest, Accumulator& accumulator) {
  const Reducer reducer(b, math_, accumulator.op);
  const bool array = nest.is_reduced() && shape_.inner >= 0;
  llvm::Type* lanes = lanes_of(accumulator.type, shape_.inner < 0 ? 1 : width_);
  const Reducer::State identity = reducer.identity(lanes);
  if (!array) {
    b.CreateStore(identity.first, accumulator.first);
    if (identity.second != nullptr) b.CreateStore(identity.second, accumulator.second);
    return;
  }
  emit_loop(b, b.getInt64(0), b.CreateSub(row_end_, row_begin_), width_, [&](V at) {
    b.CreateAlignedStore(identity.first, b.CreateGEP(accumulator.type, accumulator.first, at),
                         llvm::Align(4));
    if (identity.second == nullptr) return;
    llvm::Type* second = identity.second->getType()->getScalarType();
    b.CreateAlignedStore(identity.second, b.CreateGEP(second, accumulator.second, at), llvm::Align(4));
  });
}

void KernelEmitter::emit_reduce(const Nest& nest, int id) {
  Accumulator& accumulator =
      *std::find_if(accumulators_.begin(), accumulators_.end(), [&](auto& a) { return a.id == id; });
  const Reducer reducer(b, math_, accumulator.op);
  const ComputeKind kind = accumulator.type->isFloatTy() ? ComputeKind::real : ComputeKind::integer;
  V x = math_.widen(math_.coerce(operand(instruction(id), 0), kind), lanes_.width);
  const Reducer::State identity = reducer.identity(x->getType());
  if (accumulator.tile != nullptr) {
    if (lanes_.mask != nullptr) x = b.CreateSelect(lanes_.mask, x, identity.first);
    b.CreateAlignedStore(x, exponential_place(accumulator, lanes_.first), llvm::Align(4));
    // A NaN is no maximum yet: it reaches the sum, and by that the result.
    V highest = b.CreateLoad(x->getType(), accumulator.first);
    b.CreateStore(b.CreateSelect(b.CreateFCmpOGT(x, highest), x, highest), accumulator.first);
    return;
  }
  V index = nullptr;
  if (reducer.needs_index()) {
    index = b.CreateTrunc(flat_index(nest.is_reduced() ? shape_.reduced : shape_.columns), b.getInt32Ty());
    index = math_.widen(index, lanes_.width);
    if (!nest.is_reduced()) index = b.CreateAdd(index, lane_numbers(b.getInt32Ty(), lanes_.width));
  }
  Reducer::State lifted = reducer.lift(x, index);
  V first = accumulator.tile_sum ? accumulator.tile_sum : accumulator.first, second = accumulator.second;
  if (nest.is_reduced() && shape_.inner >= 0) {
    V at = b.CreateSub(lanes_.first, row_begin_);
    first = b.CreateGEP(accumulator.type, first, at);
    if (second != nullptr) second = b.CreateGEP(lifted.second->getType()->getScalarType(), second, at);
  } else if (lanes_.mask != nullptr) {
    lifted.first = b.CreateSelect(lanes_.mask, lifted.first, identity.first);
    if (second != nullptr) lifted.second = b.CreateSelect(lanes_.mask, lifted.second, identity.second);
  }
  Reducer::State before = {b.CreateAlignedLoad(x->getType(), first, llvm::Align(4))};
  if (second != nullptr)
    before.second = b.CreateAlignedLoad(lifted.second->getType(), second, llvm::Align(4));
  const Reducer::State after = reducer.combine(before, lifted);
  b.CreateAlignedStore(after.first, first, llvm::Align(4));
  if (second != nullptr) b.CreateAlignedStore(after.second, second, llvm::Align(4));
}

// ---- a tile at a time
// ---------------------------------------------------------------------------------------------------

void KernelEmitter::begin_tile() {
  for (const Accumulator& accumulator : accumulators_) {
    llvm::Type* lanes = lanes_of(accumulator.type, width_);
    if (accumulator.tile != nullptr)
      b.CreateStore(llvm::ConstantFP::getInfinity(lanes, true), accumulator.first);
    if (accumulator.tile_sum != nullptr)
      b.CreateStore(llvm::Constant::getNullValue(lanes), accumulator.tile_sum);
  }
}

void KernelEmitter::finish_tile(const Nest& nest, V first, V limit) {
  for (const Accumulator& accumulator : accumulators_) {
    if (accumulator.tile != nullptr) finish_exponentials(nest, accumulator, first, limit);
    if (accumulator.tile_sum == nullptr) continue;
    llvm::Type* lanes = lanes_of(accumulator.type, width_);
    V before = b.CreateLoad(lanes, accumulator.first), sum = b.CreateLoad(lanes, accumulator.tile_sum);
    b.CreateStore(math_.add(before, sum), accumulator.first);
  }
}

// ---- results
// --------------------------------------------------------------------------------------------------------

/// The `result` instruction that reads the second scalar of a reduction, or -1.
int KernelEmitter::result_id(int reduce) const {
  for (size_t id = 0; id < kernel_.instructions.size(); ++id)
    if (instruction(id).kind == Kind::result && instruction(id).operands[0] == reduce &&
        instruction(id).slot == 1)
      return static_cast<int>(id);
  return -1;
}

void KernelEmitter::finish_reductions(const Nest& nest) {
  for (const Accumulator& accumulator : accumulators_) {
    const Reducer reducer(b, math_, accumulator.op);
    const int second_id = result_id(accumulator.id);
    if (nest.is_reduced() && shape_.inner >= 0) {
      stored_[accumulator.id] = {accumulator.first, accumulator.type};
      values_[accumulator.id] = nullptr;
      if (second_id < 0) continue;
      stored_[second_id] = {accumulator.second, reducer.second_type(accumulator.type)};
      values_[second_id] = nullptr;
      continue;
    }
    llvm::Type* lanes = lanes_of(accumulator.type, shape_.inner < 0 ? 1 : width_);
    Reducer::State state;
    if (accumulator.tile != nullptr) {
      V sums = b.CreateLoad(lanes, accumulator.second),
        maximum = b.CreateLoad(b.getFloatTy(), accumulator.maximum);
      V sum = Reducer(b, math_, ReduceOp::add).across({sums}).first;
      state = {b.CreateSelect(b.CreateFCmpUNO(sum, sum), sum, maximum), sum};
      if (accumulator.scales != nullptr) finish_scales(accumulator, state.first);
    } else {
      state.first = b.CreateLoad(lanes, accumulator.first);
      if (reducer.has_second()) state.second = b.CreateLoad(reducer.second_type(lanes), accumulator.second);
      state = reducer.across(state);
    }
    values_[accumulator.id] = reducer.finish(state, 0);
    if (second_id >= 0) values_[second_id] = reducer.finish(state, 1);
  }
}

// ---- values kept for later blocks
// -------------------------------------------------------------------------------------

V KernelEmitter::stored_place(const Stored& stored) {
  V at = stored.whole_row ? flat_index(shape_.columns) : b.CreateSub(lanes_.first, row_begin_);
  return b.CreateGEP(stored.type, stored.array, at);
}

V KernelEmitter::load_stored(const Stored& stored) {
  if (!lanes_.inner)
    fail_with(Status::internal, "kernel {}: a column value is read outside of columns", kernel_.name);
  V place = stored_place(stored);
  V value = b.CreateAlignedLoad(lanes_of(stored.type, lanes_.width), place, llvm::Align(1));
  return stored.type->isIntegerTy(8) ? memory_.unpack(value, DType::boolean) : value;
}

/// Values that the schedule caches go to a scratch row as well, flags as bytes.
void KernelEmitter::keep_cached(int id) {
  const std::vector<int>& cached = kernel_.schedule.cached;
  if (std::find(cached.begin(), cached.end(), id) == cached.end()) return;
  V value = math_.widen(values_[id], lanes_.width);
  if (kind_of(value) == ComputeKind::flag) value = memory_.pack(value, DType::boolean, true);
  Stored& stored = stored_[id];
  if (stored.array == nullptr) {
    stored = {nullptr, value->getType()->getScalarType(), true};
    stored.array = alloca_array(stored.type, cached_elements() + width_);
  }
  b.CreateAlignedStore(value, stored_place(stored), llvm::Align(1));
}

int64_t KernelEmitter::cached_elements() const {
  if (kernel_.schedule.flat)
    fail_with(Status::internal, "kernel {}: a flat kernel has no rows to cache values of", kernel_.name);
  Dim columns = 1;
  for (int axis : shape_.columns) columns *= kernel_.axes[axis].extent;
  const int64_t elements = columns.constant().value_or(kernel_.schedule.cached_elements);
  if (elements <= 0)
    fail_with(Status::internal, "kernel {}: no bound for the rows of cached values", kernel_.name);
  return elements;
}

}  // namespace smelt
