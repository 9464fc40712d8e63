#include "codegen/gpu/lower/accumulator_lowering.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt::gpu {
namespace {

using Kind = Instruction::Kind;

}  // namespace

bool AccumulatorLowering::is_in_column_registers(int id) const {
  return c_.shape.accumulation(id) == Accumulation::column && c_.vectors > 0;
}

bool AccumulatorLowering::is_in_memory(int id) const {
  return c_.shape.accumulation(id) != Accumulation::scalar && !is_in_column_registers(id);
}

/// An accumulation before this one has the same places.
bool AccumulatorLowering::adds_again(int id) const {
  return llvm::any_of(c_.shape.all_of(Kind::accumulate), [&](int other) {
    return other < id && c_.instruction(other).access == c_.instruction(id).access;
  });
}

/// Sets the target, or adds to it.
void AccumulatorLowering::write(int id, const Expr& target, const Expr& value) {
  c_.out.assign(adds_again(id) ? Assignment::Op::add : Assignment::Op::set, target, value);
}

// ---- before the rows

void AccumulatorLowering::declare() {
  for (int id : c_.shape.all_of(Kind::accumulate)) {
    if (c_.param(id).dtype != DType::f32) c_.reject(id, "accumulates into a parameter that is not f32");
    const std::string name = fmt::format("sum{}", id);
    if (c_.shape.accumulation(id) == Accumulation::scalar)
      c_.out.declare_changing(Scalar::real, name, real_number(0));
    if (is_in_column_registers(id)) c_.out.declare_array(Scalar::real, name, {c_.vectors, c_.width}, true);
  }
  zero_memory();
}

/// Sums that no register holds: every element is added to by one thread, always the same.
void AccumulatorLowering::zero_memory() {
  bool any = false;
  for (int param = 0; param < static_cast<int>(c_.kernel.params.size()); ++param) {
    if (!c_.kernel.params[param].partial) continue;
    const bool in_memory = has_sums_in_memory(param);
    if (!in_memory && is_written_whole(param)) continue;
    if (c_.teams > 1 && in_memory)
      fail_with(Status::internal, "kernel {}: sums in memory want one team a block", c_.kernel.name);
    zero_slice(param);
    any = true;
  }
  if (any) c_.out.barrier();
}

void AccumulatorLowering::zero_slice(int param) {
  const Expr i = c_.out.open_loop(Scalar::index, "i", thread_number(),
                                  c_.dim(c_.kernel.params[param].partial_elements), c_.schedule.threads);
  c_.out.set(element(addresses_.slice(param), i), real_number(0));
  c_.out.close();
}

bool AccumulatorLowering::has_sums_in_memory(int param) const {
  return llvm::any_of(c_.shape.all_of(Kind::accumulate),
                      [&](int id) { return c_.instruction(id).access.param == param && is_in_memory(id); });
}

/// Returns whether the values in registers at the end make up a whole slice.
bool AccumulatorLowering::is_written_whole(int param) const {
  Dim written = 0;
  for (int id : c_.shape.all_of(Kind::accumulate)) {
    if (c_.instruction(id).access.param != param || adds_again(id)) continue;
    const bool column = c_.shape.accumulation(id) == Accumulation::column;
    written += column ? c_.kernel.axes[c_.shape.inner].extent : Dim(1);
  }
  return written == c_.kernel.params[param].partial_elements;
}

// ---- after the rows

/// Finishes accumulations; those into one parameter run one after the other.
void AccumulatorLowering::finish() {
  std::vector<int> columns;
  for (int id : c_.shape.all_of(Kind::accumulate)) {
    if (c_.shape.accumulation(id) == Accumulation::scalar) finish_scalar(id);
    if (is_in_column_registers(id)) columns.push_back(id);
  }
  finish_columns(columns);
}

/// Across the lanes of each warp by shuffles, then across all warps of the block: their number follows from
/// the schedule's threads.
void AccumulatorLowering::finish_scalar(int id) {
  const int threads = c_.schedule.threads, warps = std::max(1, threads / 32);
  c_.shared.need_floats(warps);
  c_.out.open_scope();
  c_.out.barrier();
  const Expr sum = variable_of("sum", id, Scalar::real);
  add_in_warps(sum, std::min(threads, 32));
  c_.out.where(thread_number() % 32 == 0,
               [&] { c_.out.set(element(c_.shared_floats(), thread_number() / 32), sum); });
  c_.out.barrier();
  add_warps(id, warps);
  c_.out.close();
}

void AccumulatorLowering::add_in_warps(const Expr& sum, int lanes) {
  if (lanes <= 1) return;
  const Expr distance = c_.out.open_halving(lanes / 2, 1, Loop::kNotUnrolled);
  c_.out.add_to(sum, shuffled(c_.mask_of(lanes), sum, distance));
  c_.out.close();
}

void AccumulatorLowering::add_warps(int id, int warps) {
  const Access& access = c_.instruction(id).access;
  c_.out.open_if(thread_number() == 0);
  const Expr total = c_.out.declare_changing(Scalar::real, "total", element(c_.shared_floats(), 0));
  const Expr w = c_.out.open_loop(Scalar::int32, "w", 1, warps, 1);
  c_.out.add_to(total, element(c_.shared_floats(), w));
  c_.out.close();
  write(id, element(addresses_.slice(access.param), c_.dim(access.offset)), total);
  c_.out.close();
}

/// Teams put their columns side by side into shared memory, those of a round of sums together, or add to them
/// one after the other; both sum in the order of the teams.
void AccumulatorLowering::finish_columns(const std::vector<int>& ids) {
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const Instruction& first = c_.instruction(ids[begin]);
    const auto in_round = [&](int id) { return c_.instruction(id).exchange_round == first.exchange_round; };
    end = std::find_if_not(ids.begin() + begin, ids.end(), in_round) - ids.begin();
    const llvm::ArrayRef<int> round(ids.data() + begin, end - begin);
    if (c_.teams == 1)
      for (int id : round) write_own_columns(id);
    else if (first.form == Form::sequential)
      for (int id : round) add_sequentially(id);
    else
      add_side_by_side(round);
  }
}

/// Opens the loops over a thread's elements of a row, and returns their column.
Expr AccumulatorLowering::open_own_columns() {
  const Expr k = c_.out.open_unrolled("k", c_.vectors);
  const Expr j = c_.out.open_unrolled("j", c_.width);
  return c_.out.declare(Scalar::int32, "c", c_.column_of_vector(k) + j);
}
void AccumulatorLowering::close_own_columns() { c_.out.close(), c_.out.close(); }

/// Returns the sum of the current element of a thread.
Expr AccumulatorLowering::register_of(int id) const {
  const Expr sums = variable_of("sum", id, Type(Scalar::real).array(2));
  return element(element(sums, variable("k", Scalar::int32)), variable("j", Scalar::int32));
}

/// Writes a column of a block's slice.
void AccumulatorLowering::write_column(int id, const Expr& column, const Expr& value) {
  const Access& access = c_.instruction(id).access;
  write(id,
        element(addresses_.slice(access.param) + c_.dim(access.offset),
                column * c_.dim(access.strides[c_.shape.inner])),
        value);
}

void AccumulatorLowering::write_own_columns(int id) {
  const Expr column = open_own_columns();
  c_.out.where(c_.column_exists(), [&] { write_column(id, column, register_of(id)); });
  close_own_columns();
}

/// Opens the loop over all columns, which the threads of the block share.
Expr AccumulatorLowering::open_columns_of_block() {
  return c_.out.open_loop(Scalar::int32, "c", thread_number(), c_.columns_end(), c_.schedule.threads);
}

void AccumulatorLowering::add_side_by_side(llvm::ArrayRef<int> ids) {
  const int64_t columns = c_.vectors * c_.lanes * c_.width;
  c_.shared.need_floats(static_cast<int64_t>(ids.size()) * c_.teams * columns);
  c_.out.barrier();
  place_side_by_side(ids, columns);
  c_.out.barrier();
  const Expr column = open_columns_of_block();
  for (size_t i = 0; i < ids.size(); ++i) add_places(ids[i], i, column, columns);
  c_.out.close();
}

void AccumulatorLowering::place_side_by_side(llvm::ArrayRef<int> ids, int64_t columns) {
  const Expr k = c_.out.open_unrolled("k", c_.vectors);
  for (size_t i = 0; i < ids.size(); ++i)
    c_.out.append(VectorAccess{
        .store = true,
        .registers = element(variable_of("sum", ids[i], Type(Scalar::real).array(2)), k),
        .address = c_.shared_floats() + i * c_.teams * columns + c_.team() * columns + c_.column_of_vector(k),
        .count = c_.width,
        .aligned = VectorAccess::Aligned::always});
  c_.out.close();
}

/// Adds up the sums of the teams for a column. `place`: the number of the sums among those in shared memory.
void AccumulatorLowering::add_places(int id, size_t place, const Expr& column, int64_t columns) {
  const Expr first = place * c_.teams * columns;
  const Expr total = c_.out.declare_changing(Scalar::real, fmt::format("total{}", place),
                                             element(c_.shared_floats(), first + column));
  const Expr t = c_.out.open_loop(Scalar::int32, "t", 1, c_.teams, 1, Loop::kWholly);
  c_.out.add_to(total, element(c_.shared_floats(), first + t * columns + column));
  c_.out.close();
  write_column(id, column, total);
}

void AccumulatorLowering::add_sequentially(int id) {
  c_.shared.need_floats(c_.vectors * c_.lanes * c_.width);
  const Expr t = c_.out.open_loop(Scalar::int32, "t", 0, c_.teams, 1);
  c_.out.barrier();
  c_.out.open_if(c_.team() == t);
  const Expr place = element(c_.shared_floats(), open_own_columns()), own = register_of(id);
  c_.out.set(place, choice(t == 0, own, place + own));
  close_own_columns();
  c_.out.close(), c_.out.close();
  c_.out.barrier();
  const Expr column = open_columns_of_block();
  write_column(id, column, element(c_.shared_floats(), column));
  c_.out.close();
}

}  // namespace smelt::gpu
