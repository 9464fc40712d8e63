#include "codegen/cpu/emitters/reduction_emitter.h"

#include <algorithm>

#include "codegen/cpu/emit_llvm.h"
#include "codegen/cpu/emitters/value_naming.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

namespace {

/// Flags are reduced as 0 and 1.
llvm::Type* operand_type(llvm::IRBuilder<>& b, llvm::Type* type, ReduceOp op) {
  if (info(op).domain == Domain::reals) return b.getFloatTy();
  return type->isIntegerTy(1) ? b.getInt32Ty() : type;
}

}  // namespace

/// Along the columns max_sumexp takes a tile's maximum first: one exponential an element. Long sums add up
/// tiles.
bool ReductionEmitter::is_tiled(const BlockNest& nest, int id) const {
  if (c_.instruction(id).kind != Kind::reduce || nest.is_reduced() || c_.shape.inner < 0) return false;
  const ReduceOp op = c_.instruction(id).reduce_op;
  return op == ReduceOp::max_sumexp || (is_real_sum(id) && !c_.has_one_tile());
}

bool ReductionEmitter::is_real_sum(int id) const {
  const Instruction& x = c_.instruction(id);
  return x.reduce_op == ReduceOp::add && c_.memory.computed(x.dtype)->isFloatTy();
}

/// Returns the vectors of a row's columns (1 where the sum does not include them); nothing where the number
/// is known only at launch.
std::optional<int64_t> ReductionEmitter::terms_of_run(const BlockNest& nest) const {
  if (nest.is_reduced() || c_.shape.inner < 0) return 1;
  const std::optional<int64_t> columns = c_.kernel.axes[c_.shape.inner].extent.constant();
  if (!columns || c_.schedule.flat) return std::nullopt;
  return std::max<int64_t>(1, (*columns + c_.width - 1) / c_.width);
}

/// Returns the runs of the innermost loop; nothing where the number is known only at launch.
std::optional<int64_t> ReductionEmitter::runs_of(const BlockNest& nest) const {
  Dim runs = 1;
  for (const int axis : nest.outer) {
    if (c_.kernel.axes[axis].begin >= 0) return std::nullopt;
    runs *= c_.kernel.axes[axis].extent;
  }
  return runs.constant();
}

/// Runs of the innermost loop that a short sum consists of; 0: the block has short sums alone, or its tiles
/// are the short sums.
int64_t ReductionEmitter::runs_of_short_sum(const BlockNest& nest) const {
  const bool along_columns = !nest.is_reduced() && c_.shape.inner >= 0;
  if (along_columns && !c_.has_one_tile()) return 0;
  const int64_t runs = std::max<int64_t>(1, kShortSumTerms / terms_of_run(nest).value_or(1));
  return runs_of(nest).value_or(runs + 1) <= runs ? 0 : runs;
}

/// Few short sums are added in f32, which is faster.
llvm::Type* ReductionEmitter::type_of_wide_sums(const BlockNest& nest) {
  const std::optional<int64_t> terms = terms_of_run(nest), runs = runs_of(nest);
  const bool few = terms && runs && *runs <= kShortSumTerms * kShortSumTerms / *terms;
  return few ? b.getFloatTy() : b.getDoubleTy();
}

bool ReductionEmitter::has_tiled(const BlockNest& nest) const {
  return llvm::any_of(nest.block->instructions, [&](int id) { return is_tiled(nest, id); });
}

// ---- before the loops

void ReductionEmitter::begin(const BlockNest& nest) {
  accumulators_.clear();
  runs_of_short_sum_ = runs_of_short_sum(nest);
  for (int id : nest.block->instructions)
    if (c_.instruction(id).kind == Kind::reduce) begin_accumulator(nest, id);
  if (llvm::none_of(accumulators_, [](const Accumulator& a) { return a.wide != nullptr; }))
    runs_of_short_sum_ = 0;
  if (runs_of_short_sum_ == 0) return;
  run_counter_ = c_.frame.alloca_array(b.getInt64Ty(), 1);
  b.CreateStore(b.getInt64(0), run_counter_);
}

void ReductionEmitter::begin_accumulator(const BlockNest& nest, int id) {
  const Instruction& x = c_.instruction(id);
  if (!nest.is_reduced() && c_.shape.is_reduced())
    c_.reject(id, "reduces over columns that are cut into tiles");
  Accumulator accumulator{id, x.reduce_op, operand_type(b, c_.memory.computed(x.dtype), x.reduce_op)};
  const Reducer reducer = reducer_of(accumulator);
  const bool columns = has_column_states(nest);
  for (size_t i = 0; i < reducer.size(); ++i)
    accumulator.state.push_back(
        columns ? c_.frame.alloca_array(reducer.type_of(i, accumulator.type), c_.tile + c_.width)
                : c_.frame.alloca_array(reducer.type_of(i, vector_of(accumulator)), 1));
  if (is_real_sum(id) && (is_tiled(nest, id) || runs_of_short_sum_ > 0)) {
    accumulator.wide_type = type_of_wide_sums(nest);
    accumulator.wide = c_.frame.alloca_array(accumulator.wide_type, columns ? c_.tile + c_.width : c_.width);
  }
  if (is_tiled(nest, id) && x.reduce_op == ReduceOp::max_sumexp) exponentials_.begin(accumulator);
  columns ? store_column_identities(accumulator) : store_identity(accumulator);
  accumulators_.push_back(accumulator);
}

void ReductionEmitter::store_identity(const Accumulator& accumulator) {
  const Reducer::State identity = reducer_of(accumulator).identity(vector_of(accumulator));
  for (const auto& [scalar, place] : llvm::zip(identity, accumulator.state)) b.CreateStore(scalar, place);
  if (accumulator.wide != nullptr) zero_wide_sums(b, wide_sums_at(accumulator, nullptr));
}

void ReductionEmitter::store_column_identities(const Accumulator& accumulator) {
  const Reducer::State identity = reducer_of(accumulator).identity(vector_of(accumulator));
  emit_loop(b, b.getInt64(0), c_.row_length(), c_.width, [&](V at) {
    for (const auto& [i, scalar] : llvm::enumerate(identity))
      b.CreateAlignedStore(scalar, state_pointer(accumulator, i, at), llvm::Align(4));
    if (accumulator.wide != nullptr) zero_wide_sums(b, wide_sums_at(accumulator, at));
  });
}

/// Returns the address of the state of the column that is `at` columns after the first.
V ReductionEmitter::state_pointer(const Accumulator& accumulator, size_t scalar, V at) {
  llvm::Type* type = reducer_of(accumulator).type_of(scalar, accumulator.type);
  return b.CreateGEP(type, accumulator.state[scalar], at);
}

// ---- elements

Accumulator& ReductionEmitter::accumulator_of(int id) {
  return *std::find_if(accumulators_.begin(), accumulators_.end(), [&](auto& a) { return a.id == id; });
}

void ReductionEmitter::add(const BlockNest& nest, int id) {
  const Accumulator& accumulator = accumulator_of(id);
  const Reducer reducer = reducer_of(accumulator);
  V x = element(accumulator);
  V mask = values_.active_mask(c_.instruction(id).predicate);
  if (accumulator.has_exponentials()) {
    if (mask != nullptr) x = b.CreateSelect(mask, x, reducer.identity(x->getType())[0]);
    return exponentials_.add(accumulator, x);
  }
  V index = reducer.needs_index() ? element_index(nest) : nullptr;
  const Reducer::State lifted = masked(nest, accumulator, reducer.lift(x, index), mask);
  const Reducer::State places = state_pointers(nest, accumulator);
  Reducer::State before;
  for (const auto& [place, scalar] : llvm::zip(places, lifted))
    before.push_back(b.CreateAlignedLoad(scalar->getType(), place, llvm::Align(4)));
  for (const auto& [after, place] : llvm::zip(reducer.combine(before, lifted), places))
    b.CreateAlignedStore(after, place, llvm::Align(4));
}

V ReductionEmitter::element(const Accumulator& accumulator) {
  const ComputeKind kind = accumulator.type->isFloatTy()       ? ComputeKind::real
                           : accumulator.type->isIntegerTy(64) ? ComputeKind::wide
                                                               : ComputeKind::integer;
  V value = values_.value_as(c_.instruction(accumulator.id).operands[0], kind);
  return c_.math.widen(value, c_.place.lanes.width);
}

/// Returns the position (i32) of the current elements among those that are reduced.
V ReductionEmitter::element_index(const BlockNest& nest) {
  const int lanes = c_.place.lanes.width;
  V index = values_.flat_index(nest.is_reduced() ? c_.shape.reduced : c_.shape.columns);
  index = c_.math.widen(b.CreateTrunc(index, b.getInt32Ty()), lanes);
  return nest.is_reduced() ? index : b.CreateAdd(index, lane_numbers(b.getInt32Ty(), lanes));
}

/// Lanes that are off change nothing; those of columns have states of their own.
Reducer::State ReductionEmitter::masked(const BlockNest& nest, const Accumulator& accumulator,
                                        Reducer::State lifted, V mask) {
  const bool has_predicate = c_.instruction(accumulator.id).predicate >= 0;
  if (mask == nullptr || (has_column_states(nest) && !has_predicate)) return lifted;
  llvm::Type* lanes = lanes_of(accumulator.type, c_.place.lanes.width);
  const Reducer::State identity = reducer_of(accumulator).identity(lanes);
  for (const auto& [scalar, none] : llvm::zip(lifted, identity)) scalar = b.CreateSelect(mask, scalar, none);
  return lifted;
}

Reducer::State ReductionEmitter::state_pointers(const BlockNest& nest, const Accumulator& accumulator) {
  Reducer::State places = accumulator.state;
  if (!has_column_states(nest)) return places;
  V at = b.CreateSub(c_.place.lanes.first, c_.place.row_begin);
  for (size_t i = 0; i < places.size(); ++i) places[i] = state_pointer(accumulator, i, at);
  return places;
}

// ---- short sums become parts of wide ones

void ReductionEmitter::finish_run(const BlockNest& nest) {
  if (runs_of_short_sum_ == 0) return;
  V runs = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), run_counter_), b.getInt64(1));
  b.CreateStore(runs, run_counter_);
  emit_if(b, b.CreateICmpEQ(runs, b.getInt64(runs_of_short_sum_)), [&] {
    for (const Accumulator& accumulator : accumulators_)
      if (accumulator.wide != nullptr) for_each_sum(nest, accumulator, add_to_wide_sums);
    b.CreateStore(b.getInt64(0), run_counter_);
  });
}

/// Sums of one vector: those of the columns from `at` on, counted from the first, or of the row where there
/// is no `at`.
WideSums ReductionEmitter::wide_sums_at(const Accumulator& accumulator, V at) {
  if (at == nullptr) return {accumulator.state[0], accumulator.wide, accumulator.wide_type, c_.width};
  V wide = b.CreateGEP(accumulator.wide_type, accumulator.wide, at);
  return {state_pointer(accumulator, 0, at), wide, accumulator.wide_type, c_.width};
}

/// Calls `change` with the sums of every vector.
void ReductionEmitter::for_each_sum(const BlockNest& nest, const Accumulator& accumulator,
                                    llvm::function_ref<ChangeSums> change) {
  if (!has_column_states(nest)) return change(b, wide_sums_at(accumulator, nullptr));
  emit_loop(b, b.getInt64(0), c_.row_length(), c_.width,
            [&](V at) { change(b, wide_sums_at(accumulator, at)); });
}

// ---- tile by tile

void ReductionEmitter::begin_tile() {
  for (const Accumulator& accumulator : accumulators_)
    if (accumulator.has_exponentials()) exponentials_.begin_tile(accumulator);
}

void ReductionEmitter::finish_tile(const BlockNest& nest, V first, V limit) {
  for (const Accumulator& accumulator : accumulators_) {
    const NameAfter names(b, accumulator.id);
    if (accumulator.has_exponentials()) exponentials_.finish_tile(nest, accumulator, first, limit);
    if (accumulator.wide != nullptr && runs_of_short_sum_ == 0)
      for_each_sum(nest, accumulator, add_to_wide_sums);
  }
}

// ---- results

void ReductionEmitter::finish(const BlockNest& nest) {
  for (const Accumulator& accumulator : accumulators_) {
    const NameAfter names(b, accumulator.id);
    if (accumulator.wide != nullptr) for_each_sum(nest, accumulator, round_wide_sums);
    has_column_states(nest) ? finish_columns(accumulator) : finish_row(accumulator);
  }
}

/// Returns the instructions of the results of a reduction; -1 for a result without an instruction.
llvm::SmallVector<int, 4> ReductionEmitter::result_ids(int reduce) const {
  llvm::SmallVector<int, 4> ids(info(c_.instruction(reduce).reduce_op).results.size(), -1);
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id) {
    const Instruction& x = c_.instruction(id);
    if (x.kind != Kind::result || x.operands[0] != reduce) continue;
    if (x.slot < 0 || x.slot >= static_cast<int>(ids.size()))
      c_.reject(id, "is a result that its reduction lacks");
    ids[x.slot] = id;
  }
  ids[0] = reduce;
  return ids;
}

void ReductionEmitter::finish_row(const Accumulator& accumulator) {
  const Reducer::State state =
      accumulator.has_exponentials() ? exponentials_.finish(accumulator) : row_state(accumulator);
  for (const auto& [result, id] : llvm::enumerate(result_ids(accumulator.id)))
    if (id >= 0) values_.set(id, reducer_of(accumulator).finish(state, result));
}

Reducer::State ReductionEmitter::row_state(const Accumulator& accumulator) {
  const Reducer reducer = reducer_of(accumulator);
  Reducer::State state;
  for (const auto& [i, place] : llvm::enumerate(accumulator.state))
    state.push_back(b.CreateLoad(reducer.type_of(i, vector_of(accumulator)), place));
  return reducer.across(state);
}

/// The arrays of a state become those of the results, which later blocks read.
void ReductionEmitter::finish_columns(const Accumulator& accumulator) {
  const Reducer reducer = reducer_of(accumulator);
  const llvm::SmallVector<int, 4> ids = result_ids(accumulator.id);
  if (!reducer.is_plain()) store_column_results(accumulator, ids.size());
  for (const auto& [i, id] : llvm::enumerate(ids))
    if (id >= 0) values_.set_array(id, accumulator.state[i], reducer.type_of(i, accumulator.type));
}

void ReductionEmitter::store_column_results(const Accumulator& accumulator, size_t count) {
  const Reducer reducer = reducer_of(accumulator);
  const auto pointer = [&](size_t i, V at) { return state_pointer(accumulator, i, at); };
  emit_loop(b, b.getInt64(0), c_.row_length(), c_.width, [&](V at) {
    Reducer::State state, results;
    for (size_t i = 0; i < reducer.size(); ++i) {
      llvm::Type* type = reducer.type_of(i, vector_of(accumulator));
      state.push_back(b.CreateAlignedLoad(type, pointer(i, at), llvm::Align(4)));
    }
    for (size_t i = 0; i < count; ++i) results.push_back(reducer.finish(state, i));
    for (size_t i = 0; i < count; ++i) b.CreateAlignedStore(results[i], pointer(i, at), llvm::Align(4));
  });
}

}  // namespace smelt
