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
/// Flags are reduced as 0 and 1.
llvm::Type* operand_type(llvm::IRBuilder<>& b, llvm::Type* type, ReduceOp op) {
  if (info(op).domain == Domain::reals) return b.getFloatTy();
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
  for (size_t i = 0; i < reducer.size(); ++i)
    accumulator.state.push_back(alloca_array(reducer.type_of(i, lanes), count));
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
    for (const auto& [scalar, place] : llvm::zip(identity, accumulator.state)) b.CreateStore(scalar, place);
    return;
  }
  emit_loop(b, b.getInt64(0), b.CreateSub(row_end_, row_begin_), width_, [&](V at) {
    for (const auto& [scalar, places] : llvm::zip(identity, accumulator.state))
      b.CreateAlignedStore(scalar, b.CreateGEP(scalar->getType()->getScalarType(), places, at),
                           llvm::Align(4));
  });
}

void KernelEmitter::emit_reduce(const Nest& nest, int id) {
  Accumulator& accumulator =
      *std::find_if(accumulators_.begin(), accumulators_.end(), [&](auto& a) { return a.id == id; });
  const Reducer reducer(b, math_, accumulator.op);
  const ComputeKind kind = accumulator.type->isFloatTy() ? ComputeKind::real : ComputeKind::integer;
  V x = math_.widen(math_.coerce(operand(instruction(id), 0), kind), lanes_.width);
  const Reducer::State identity = reducer.identity(x->getType());
  const int predicate = instruction(id).predicate;
  V mask = active_mask(predicate);
  if (accumulator.tile != nullptr) {
    if (mask != nullptr) x = b.CreateSelect(mask, x, identity[0]);
    b.CreateAlignedStore(x, exponential_place(accumulator, lanes_.first), llvm::Align(4));
    // A NaN is no maximum yet: it reaches the sum, and by that the result.
    V highest = b.CreateLoad(x->getType(), accumulator.state[0]);
    b.CreateStore(b.CreateSelect(b.CreateFCmpOGT(x, highest), x, highest), accumulator.state[0]);
    return;
  }
  V index = nullptr;
  if (reducer.needs_index()) {
    index = b.CreateTrunc(flat_index(nest.is_reduced() ? shape_.reduced : shape_.columns), b.getInt32Ty());
    index = math_.widen(index, lanes_.width);
    if (!nest.is_reduced()) index = b.CreateAdd(index, lane_numbers(b.getInt32Ty(), lanes_.width));
  }
  Reducer::State lifted = reducer.lift(x, index), places = accumulator.state, before;
  if (accumulator.tile_sum != nullptr) places[0] = accumulator.tile_sum;
  const bool column_places = nest.is_reduced() && shape_.inner >= 0;  // lanes that are off have their own
  if (mask != nullptr && (!column_places || predicate >= 0))
    for (const auto& [scalar, none] : llvm::zip(lifted, identity))
      scalar = b.CreateSelect(mask, scalar, none);
  if (column_places) {
    V at = b.CreateSub(lanes_.first, row_begin_);
    for (const auto& [place, scalar] : llvm::zip(places, lifted))
      place = b.CreateGEP(scalar->getType()->getScalarType(), place, at);
  }
  for (const auto& [place, scalar] : llvm::zip(places, lifted))
    before.push_back(b.CreateAlignedLoad(scalar->getType(), place, llvm::Align(4)));
  for (const auto& [after, place] : llvm::zip(reducer.combine(before, lifted), places))
    b.CreateAlignedStore(after, place, llvm::Align(4));
}

// ---- a tile at a time
// ---------------------------------------------------------------------------------------------------

void KernelEmitter::begin_tile() {
  for (const Accumulator& accumulator : accumulators_) {
    llvm::Type* lanes = lanes_of(accumulator.type, width_);
    if (accumulator.tile != nullptr)
      b.CreateStore(llvm::ConstantFP::getInfinity(lanes, true), accumulator.state[0]);
    if (accumulator.tile_sum != nullptr)
      b.CreateStore(llvm::Constant::getNullValue(lanes), accumulator.tile_sum);
  }
}

void KernelEmitter::finish_tile(const Nest& nest, V first, V limit) {
  for (const Accumulator& accumulator : accumulators_) {
    if (accumulator.tile != nullptr) finish_exponentials(nest, accumulator, first, limit);
    if (accumulator.tile_sum == nullptr) continue;
    llvm::Type* lanes = lanes_of(accumulator.type, width_);
    V before = b.CreateLoad(lanes, accumulator.state[0]), sum = b.CreateLoad(lanes, accumulator.tile_sum);
    b.CreateStore(math_.add(before, sum), accumulator.state[0]);
  }
}

// ---- results
// --------------------------------------------------------------------------------------------------------

/// The instructions that stand for the results of a reduction; -1 where no instruction does.
llvm::SmallVector<int, 4> KernelEmitter::result_ids(int reduce) const {
  llvm::SmallVector<int, 4> ids(info(instruction(reduce).reduce_op).results.size(), -1);
  for (int id = 0; id < static_cast<int>(kernel_.instructions.size()); ++id) {
    const Instruction& x = instruction(id);
    if (x.kind != Kind::result || x.operands[0] != reduce) continue;
    if (x.slot < 0 || x.slot >= static_cast<int>(ids.size()))
      reject(id, "is a result that its reduction lacks");
    ids[x.slot] = id;
  }
  ids[0] = reduce;
  return ids;
}

void KernelEmitter::finish_reductions(const Nest& nest) {
  for (const Accumulator& accumulator : accumulators_) {
    if (nest.is_reduced() && shape_.inner >= 0) {
      finish_columns(accumulator);
      continue;
    }
    const Reducer reducer(b, math_, accumulator.op);
    const Reducer::State state = finished_state(accumulator);
    for (const auto& [result, id] : llvm::enumerate(result_ids(accumulator.id)))
      if (id >= 0) values_[id] = reducer.finish(state, result);
  }
}

/// The state of the whole row.
Reducer::State KernelEmitter::finished_state(const Accumulator& accumulator) {
  const Reducer reducer(b, math_, accumulator.op);
  llvm::Type* lanes = lanes_of(accumulator.type, shape_.inner < 0 ? 1 : width_);
  if (accumulator.tile == nullptr) {
    Reducer::State state;
    for (const auto& [i, place] : llvm::enumerate(accumulator.state))
      state.push_back(b.CreateLoad(reducer.type_of(i, lanes), place));
    return reducer.across(state);
  }
  V sums = b.CreateLoad(lanes, accumulator.state[1]),
    maximum = b.CreateLoad(b.getFloatTy(), accumulator.maximum);
  V sum = Reducer(b, math_, ReduceOp::add).across({sums})[0];
  const Reducer::State state = {b.CreateSelect(b.CreateFCmpUNO(sum, sum), sum, maximum), sum};
  if (accumulator.scales != nullptr) finish_scales(accumulator, state[0]);
  return state;
}

/// The arrays of a state become those of the results, which later blocks read.
void KernelEmitter::finish_columns(const Accumulator& accumulator) {
  const Reducer reducer(b, math_, accumulator.op);
  llvm::Type* lanes = lanes_of(accumulator.type, width_);
  const llvm::SmallVector<int, 4> ids = result_ids(accumulator.id);
  const auto place = [&](size_t i, V at) {
    return b.CreateGEP(reducer.type_of(i, accumulator.type), accumulator.state[i], at);
  };
  if (!reducer.is_plain())
    emit_loop(b, b.getInt64(0), b.CreateSub(row_end_, row_begin_), width_, [&](V at) {
      Reducer::State state, results;
      for (size_t i = 0; i < reducer.size(); ++i)
        state.push_back(b.CreateAlignedLoad(reducer.type_of(i, lanes), place(i, at), llvm::Align(4)));
      for (size_t i = 0; i < ids.size(); ++i) results.push_back(reducer.finish(state, i));
      for (size_t i = 0; i < ids.size(); ++i) b.CreateAlignedStore(results[i], place(i, at), llvm::Align(4));
    });
  for (const auto& [i, id] : llvm::enumerate(ids)) {
    if (id < 0) continue;
    stored_[id] = {accumulator.state[i], reducer.type_of(i, accumulator.type)};
    values_[id] = nullptr;
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
