#include "codegen/cuda/printers/accumulator_printer.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

bool AccumulatorPrinter::is_in_column_registers(int id) const {
  return c_.shape.accumulation(id) == Accumulation::column && c_.vectors > 0;
}

bool AccumulatorPrinter::is_in_memory(int id) const {
  return c_.shape.accumulation(id) != Accumulation::scalar && !is_in_column_registers(id);
}

/// An accumulation before this one has the same places.
bool AccumulatorPrinter::adds_again(int id) const {
  return llvm::any_of(c_.shape.all_of(Kind::accumulate), [&](int other) {
    return other < id && c_.instruction(other).access == c_.instruction(id).access;
  });
}

// ---- before the rows

void AccumulatorPrinter::declare() {
  for (int id : c_.shape.all_of(Kind::accumulate)) {
    if (c_.param(id).dtype != DType::f32) c_.reject(id, "accumulates into a parameter that is not f32");
    if (c_.shape.accumulation(id) == Accumulation::scalar) c_.out.line("float sum{} = 0.0f;", id);
    if (is_in_column_registers(id)) c_.out.line("float sum{}[{}][{}] = {{}};", id, c_.vectors, c_.width);
  }
  zero_memory();
}

/// Sums that no register holds: every element is added to by one thread, always the same.
void AccumulatorPrinter::zero_memory() {
  bool any = false;
  for (int param = 0; param < static_cast<int>(c_.kernel.params.size()); ++param) {
    if (!c_.kernel.params[param].partial) continue;
    const bool in_memory = has_sums_in_memory(param);
    if (!in_memory && is_written_whole(param)) continue;
    if (c_.teams > 1 && in_memory)
      fail_with(Status::internal, "kernel {}: sums in memory want one team a block", c_.kernel.name);
    c_.out.open("for (Index i = threadIdx.x; i < {}; {})", c_.dim(c_.kernel.params[param].partial_elements),
                step_text("i", c_.schedule.threads));
    c_.out.line("({})[i] = 0.0f;", addresses_.slice(param));
    c_.out.close();
    any = true;
  }
  if (any) c_.out.line("__syncthreads();");
}

bool AccumulatorPrinter::has_sums_in_memory(int param) const {
  return llvm::any_of(c_.shape.all_of(Kind::accumulate),
                      [&](int id) { return c_.instruction(id).access.param == param && is_in_memory(id); });
}

/// Returns whether the values in registers at the end make up a whole slice.
bool AccumulatorPrinter::is_written_whole(int param) const {
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
void AccumulatorPrinter::finish() {
  std::vector<int> columns;
  for (int id : c_.shape.all_of(Kind::accumulate)) {
    if (c_.shape.accumulation(id) == Accumulation::scalar) finish_scalar(id);
    if (is_in_column_registers(id)) columns.push_back(id);
  }
  finish_columns(columns);
}

/// Across the lanes of each warp by shuffles, then across all warps of the block: their number follows from
/// the schedule's threads.
void AccumulatorPrinter::finish_scalar(int id) {
  const Access& access = c_.instruction(id).access;
  const int threads = c_.schedule.threads, warps = std::max(1, threads / 32), lanes = std::min(threads, 32);
  c_.shared.need_floats(warps);
  c_.out.open("");
  c_.out.line("__syncthreads();");
  if (lanes > 1) {
    c_.out.open("for (int d = {}; d >= 1; d /= 2)", lanes / 2);
    c_.out.line("sum{} += __shfl_xor_sync({}, sum{}, d);", id,
                bits_text(lanes == 32 ? 0xffffffffu : (1u << lanes) - 1), id);
    c_.out.close();
  }
  c_.out.line_if("threadIdx.x % 32 == 0", fmt::format("shared_floats[threadIdx.x / 32] = sum{};", id));
  c_.out.line("__syncthreads();");
  c_.out.open("if (threadIdx.x == 0)");
  c_.out.line("float total = shared_floats[0];");
  c_.out.open("for (int w = 1; w < {}; ++w)", warps);
  c_.out.line("total += shared_floats[w];");
  c_.out.close();
  c_.out.line("({})[{}] {} total;", addresses_.slice(access.param), c_.dim(access.offset), assignment(id));
  c_.out.close();
  c_.out.close();
}

/// Teams put their columns side by side into shared memory, those of a round of sums together, or add to them
/// one after the other; both sum in the order of the teams.
void AccumulatorPrinter::finish_columns(const std::vector<int>& ids) {
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

/// Opens the loops over a thread's elements of a row: k, j, and the column c.
void AccumulatorPrinter::open_own_columns() {
  c_.out.open_unrolled("k", c_.vectors);
  c_.out.open_unrolled("j", c_.width);
  c_.out.line("const int c = {} + j;", c_.column_of_vector());
}
void AccumulatorPrinter::close_own_columns() { c_.out.close(), c_.out.close(); }

/// to[c] = value, or +=, of a block's slice.
void AccumulatorPrinter::write_column(int id, const std::string& value) {
  const Access& access = c_.instruction(id).access;
  c_.out.line("({} + {})[c * {}] {} {};", addresses_.slice(access.param), c_.dim(access.offset),
              c_.dim(access.strides[c_.shape.inner]), assignment(id), value);
}

void AccumulatorPrinter::write_own_columns(int id) {
  open_own_columns();
  c_.open_existing_columns();
  write_column(id, fmt::format("sum{}[k][j]", id));
  c_.close_existing_columns();
  close_own_columns();
}

void AccumulatorPrinter::add_side_by_side(llvm::ArrayRef<int> ids) {
  const int64_t columns = c_.vectors * c_.lanes * c_.width;
  const auto first = [&](size_t i) { return static_cast<int64_t>(i) * c_.teams * columns; };
  c_.shared.need_floats(first(ids.size()));
  c_.out.line("__syncthreads();");
  c_.out.open_unrolled("k", c_.vectors);
  for (size_t i = 0; i < ids.size(); ++i)
    c_.out.line("sm_store<true>(shared_floats + {} + team * {} + {}, sum{}[k], {});", first(i), columns,
                c_.column_of_vector(), ids[i], c_.width);
  c_.out.close();
  c_.out.line("__syncthreads();");
  c_.out.open("for (int c = threadIdx.x; c < {}; {})", c_.columns_end(), step_text("c", c_.schedule.threads));
  for (size_t i = 0; i < ids.size(); ++i) {
    c_.out.line("float total{} = shared_floats[{} + c];", i, first(i));
    c_.out.pragma_unroll();
    c_.out.open("for (int t = 1; t < {}; ++t)", c_.teams);
    c_.out.line("total{} += shared_floats[{} + t * {} + c];", i, first(i), columns);
    c_.out.close();
    write_column(ids[i], fmt::format("total{}", i));
  }
  c_.out.close();
}

void AccumulatorPrinter::add_sequentially(int id) {
  c_.shared.need_floats(c_.vectors * c_.lanes * c_.width);
  c_.out.open("for (int t = 0; t < {}; ++t)", c_.teams);
  c_.out.line("__syncthreads();");
  c_.out.open("if (team == t)");
  open_own_columns();
  c_.out.line("shared_floats[c] = t == 0 ? sum{0}[k][j] : shared_floats[c] + sum{0}[k][j];", id);
  close_own_columns();
  c_.out.close(), c_.out.close();
  c_.out.line("__syncthreads();");
  c_.out.open("for (int c = threadIdx.x; c < {}; {})", c_.columns_end(), step_text("c", c_.schedule.threads));
  write_column(id, "shared_floats[c]");
  c_.out.close();
}

}  // namespace smelt
